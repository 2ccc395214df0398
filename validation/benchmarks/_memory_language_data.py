"""Facts and questions in other languages, with typing errors and with invented names; all written for this project.

Each line: subject | relation | object | question. A question is right when its own fact is among the first five.
"""

# ruff: noqa: RUF001 - other scripts are what this file is for

from typing import Final

LANGUAGES: Final = """
the old lighthouse|was built by|Henrik Dahl|Wer hat den alten Leuchtturm gebaut?
the village bakery|opens at|six in the morning|Um wie viel Uhr öffnet die Dorfbäckerei?
my neighbour's dog|is afraid of|thunder|Wovor hat der Hund meines Nachbarn Angst?
the town library|closes on|Wednesday|An welchem Tag ist die Stadtbibliothek geschlossen?
the blue bicycle|belongs to|Martin|Wem gehört das blaue Fahrrad?
Clara|is allergic to|strawberries|Wogegen ist Clara allergisch?
the spare key|is kept|under the flower pot|Wo liegt der Ersatzschlüssel?
our grandmother|was born in|1931|In welchem Jahr wurde unsere Großmutter geboren?
the harvest festival|takes place in|September|En quel mois a lieu la fête de la récolte ?
the doctor|recommended|more sleep|Qu'est-ce que le médecin a recommandé ?
the museum ticket|costs|twelve euros|Combien coûte le billet du musée ?
Paul's sister|lives in|Lyon|Où habite la sœur de Paul ?
the last train|leaves at|midnight|À quelle heure part le dernier train ?
the white cat|sleeps on|the piano|Où dort le chat blanc ?
the apple tree|was planted by|my father|Qui a planté le pommier ?
the wine cellar|contains|three hundred bottles|Combien de bouteilles y a-t-il dans la cave à vin ?
the bridge|was destroyed by|a flood|¿Qué destruyó el puente?
Lucía|studies|veterinary medicine|¿Qué estudia Lucía?
the fishing boat|is painted|green|¿De qué color está pintado el barco de pesca?
the mayor|resigned because of|illness|¿Por qué dimitió el alcalde?
the football match|was cancelled because of|snow|¿Por qué se canceló el partido de fútbol?
our hotel|is next to|the cathedral|¿Qué hay al lado de nuestro hotel?
the teacher|plays|the violin|Quale strumento suona l'insegnante?
the red car|was sold to|a student|A chi è stata venduta la macchina rossa?
the mountain hut|is closed in|winter|Quando è chiuso il rifugio di montagna?
Giulia|works as|an architect|Che lavoro fa Giulia?
the medicine|must be taken|after dinner|Quando bisogna prendere la medicina?
the river|flows into|the lake|Onde desagua o rio?
the children|are afraid of|the dark|De que têm medo as crianças?
the restaurant|is famous for|its fish soup|Por que prato é famoso o restaurante?
the meeting|was moved to|Thursday|Naar welke dag is de vergadering verplaatst?
the farmer|sold|his sheep|Wat heeft de boer verkocht?
the blue vase|was made in|China|Waar is de blauwe vaas gemaakt?
the ship|carries|coal|Что везёт корабль?
the museum|is closed on|Monday|В какой день закрыт музей?
my brother|likes|mathematics|Какой предмет любит мой брат?
the station|is far from|the hotel|駅から遠いのはどこですか。
the cat|likes|warm milk|猫は何が好きですか。
the school|begins in|April|学校は何月に始まりますか。
the tea|comes from|the southern mountains|这种茶来自哪里？
the library|has|ten thousand books|图书馆有多少本书？
der alte Brunnen|steht vor|dem Rathaus|What stands in front of the town hall?
die Wanderung|dauert|vier Stunden|How long does the hike take?
le fromage|vient de|la ferme de Jules|Where does the cheese come from?
la clé du garage|est dans|le tiroir|Where is the key to the garage?
el perro de Ana|se llama|Canela|What is Ana's dog called?
la reunión|empieza a|las nueve|When does the meeting start?
la nonna|abita a|Siena|Where does the grandmother live?
der Zahnarzt|hat Urlaub bis|Freitag|Until when is the dentist on holiday?
le voisin|répare|des horloges|What does the neighbour repair?
"""

TYPOS: Final = """
Albert Einstein|developed|the theory of relativity|who develped the theory of relativty
Marie Curie|discovered|polonium|what did Mary Currie discovr
Leonardo da Vinci|painted|the Last Supper|what did Leonrado da Vinchi paint
Shakespeare|wrote|Hamlet|which play did Shakspeare wriet
Mozart|was born in|Salzburg|where was Mozzart born
Beethoven|became|deaf|what hapened to Bethoven
Napoleon|was exiled to|Saint Helena|where was Napolean exilled
Christopher Columbus|sailed in|1492|when did Cristofer Colombus sail
Isaac Newton|described|gravity|what did Issac Newtn describe
Charles Darwin|travelled on|the Beagle|on wich ship did Charls Darwn travel
Galileo|observed|the moons of Jupiter|what did Gallileo obseve
Cleopatra|ruled|Egypt|which country did Cleoptra rule
Abraham Lincoln|gave|the Gettysburg Address|what speach did Abrahm Lincon give
Mahatma Gandhi|led|the Salt March|what did Mahatama Ghandi lead
Nelson Mandela|was imprisoned on|Robben Island|where was Nelson Mandella inprisoned
Vincent van Gogh|cut off|his ear|what did Vincnet van Gough cut of
Pythagoras|proved|a theorem about triangles|what did Pithagoras prove
Archimedes|sat in|a bath|where did Archimedies sit
Copernicus|placed|the sun at the centre|what did Coppernicus place at the center
Florence Nightingale|reformed|nursing|what did Florance Nightengale reform
Alexander Fleming|found|penicillin|what did Alexandr Flemming find
Thomas Edison|improved|the light bulb|what did Tomas Eddison improve
Nikola Tesla|worked on|alternating current|what did Nicola Telsa work on
Alan Turing|broke|the Enigma code|which code did Allan Turring brake
Rosa Parks|refused|to give up her seat|what did Roza Parkes refuse
Frida Kahlo|painted|self portraits|what did Freda Khalo paint
Johannes Kepler|described|planetary orbits|what did Johanes Keppler descibe
Gregor Mendel|grew|pea plants|what did Gregor Mendell grow
Louis Pasteur|invented|a vaccine against rabies|what did Luis Pastuer invent
Amelia Earhart|flew across|the Atlantic|which ocean did Amelia Airhart fly accross
Ludwig Wittgenstein|taught at|Cambridge|where did Ludwig Witgenstien teach
Immanuel Kant|lived in|Königsberg|where did Emanuel Cant live
Friedrich Nietzsche|wrote|Zarathustra|what did Fredrich Neitzsche write
Dostoevsky|was sent to|Siberia|where was Dostoyevski sent
Tchaikovsky|composed|Swan Lake|what did Chaikovsky compose
Rachmaninoff|had|large hands|what did Rachmaninov have
Kierkegaard|broke off|his engagement|what did Kirkegard break of
Schrödinger|imagined|a cat in a box|what did Schroedinger imagin
Heisenberg|found|the uncertainty principle|what principal did Heisenburg find
Ramanujan|corresponded with|Hardy|with whom did Ramanujam corespond
"""

INVENTED: Final = """
Velmora Quist|repairs|clocks in the tower|what does Velmora Quist repair?
Tarnok Industries|produces|ceramic filters|what is made by Tarnok Industries?
Zephira|married|Oltan Brisk|who is Zephira's husband?
Grundelhaven|lies on|the river Ossel|which river does Grundelhaven lie on?
the Krellian protocol|was written by|Ivo Sandrake|who wrote the Krellian protocol?
Project Nimbalo|ended in|2017|when did Project Nimbalo end?
Ostervane|is the capital of|Lirrenia|what is the capital of Lirrenia?
Dr. Pellwick|discovered|the moth Attara noma|what did Dr. Pellwick discover?
the Fennimar bridge|was closed after|the storm of May|why was the Fennimar bridge closed?
Quorlan|speaks|four languages|how many languages does Quorlan speak?
Bexholm Abbey|houses|a painted ceiling|what is housed in Bexholm Abbey?
Mirabelka|drives|a yellow tram|what does Mirabelka drive?
the Yostrin engine|burns|alcohol|what fuel does the Yostrin engine burn?
Sallow & Finch|publishes|maps of islands|what does Sallow & Finch publish?
Drumcavvy|won|the rowing cup|which cup did Drumcavvy win?
Ketterbone|borrowed|the ladder|who borrowed the ladder?
Lady Ostrimont|left her fortune to|a gardener|to whom did Lady Ostrimont leave her fortune?
Vasko Trill|was trained by|Emmer Doon|who trained Vasko Trill?
the Halvard stone|was found near|Skerry Point|where was the Halvard stone found?
Nuvexa|causes|drowsiness|what does Nuvexa cause?
Parlish tea|is grown in|the Umber valley|where is Parlish tea grown?
Obrek the Younger|built|seven mills|how many mills did Obrek the Younger build?
Timber Lake School|is led by|Agnes Wollop|who leads Timber Lake School?
Zindel Kroy|lost|a silver watch|what did Zindel Kroy lose?
Arvontis|is the moon of|Pell|which moon belongs to Pell?
the Dorrick treaty|ended|the herring war|what ended the herring war?
Fumiko Brandtner|collects|old radios|what does Fumiko Brandtner collect?
Plantation Eshkarum|exports|vanilla|what is exported by Plantation Eshkarum?
Quillfeather Inn|serves|nettle soup|what is served at Quillfeather Inn?
Rasmus Oddvik|fears|deep water|what is Rasmus Oddvik afraid of?
the Tullamon archive|burned in|1888|when did the Tullamon archive burn?
Wexlo|was founded by|the Sperring sisters|who founded Wexlo?
Ysolde Marrable|teaches|cello in Grundelhaven|what does Ysolde Marrable teach?
the Cobbaltine dam|supplies|Ostervane with power|which town gets power from the Cobbaltine dam?
Eppie Norwhistle|bakes|rye bread|what does Eppie Norwhistle bake?
Hollowmere|is haunted by|a grey rider|who haunts Hollowmere?
the Jannick method|measures|the hardness of ice|what is measured by the Jannick method?
Captain Brellan|sank with|the Merry Otter|with which ship did Captain Brellan sink?
Utterby Fair|sells|hand carved spoons|what can you buy at Utterby Fair?
Lorcan Vey|painted|the council hall|what did Lorcan Vey paint?
"""


def sets() -> dict[str, list[tuple[str, str, str, str]]]:
    """The three sets: (subject, relation, object, question) each."""
    found: dict[str, list[tuple[str, str, str, str]]] = {}
    for name, text in (("other languages", LANGUAGES), ("typing errors", TYPOS), ("invented names", INVENTED)):
        rows = [line.split("|") for line in text.strip().splitlines()]
        found[name] = [(row[0], row[1], row[2], row[3]) for row in rows]
    return found
