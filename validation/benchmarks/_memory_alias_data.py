"""Aliases made of common words, and questions that use those words as such; all written for this project."""

from typing import Final

ALIASES: Final = """
the big apple|New York City
the windy city|Chicago
the big easy|New Orleans
the city of light|Paris
the eternal city|Rome
the city of angels|Los Angeles
the iron lady|Margaret Thatcher
the old smoke|London
the emerald isle|Ireland
the land of fire|Azerbaijan
the rising sun|Japan
the red planet|Mars
the morning star|Venus
the blue planet|Earth
the dark continent|Africa
the roof of the world|Tibet
the green heart|Thuringia
the white city|Tel Aviv
the pink city|Jaipur
the blue city|Jodhpur
the golden city|Prague
the silver city|Broken Hill
the granite city|Aberdeen
the steel city|Sheffield
the motor city|Detroit
the sunshine state|Florida
the lone star state|Texas
the golden state|California
the garden state|New Jersey
the last frontier|Alaska
the river city|Brisbane
the harbour city|Sydney
the mother city|Cape Town
the sweet water|Clearwater Works
the grand old man|William Gladstone
the little corporal|Napoleon Bonaparte
the sun king|Louis XIV
the virgin queen|Elizabeth I
the desert fox|Erwin Rommel
the black prince|Edward of Woodstock
the lion heart|Richard I
the great white north|Canada
the land down under|Australia
the boot|Italy
the bear|Russia
the sleeping giant|Thunder Cape
the old lady|Juventus
the red devils|Manchester United
the blue note|Jazz Records House
the white house|Executive Mansion
the red house|Bexleyheath Museum
the glass house|Johnson Residence
the long march|Jiangxi Retreat
the cold war|East West Conflict
the black death|Plague of 1347
the dust bowl|Plains Drought
the gold rush|Klondike Migration
the tea party|Boston Harbor Protest
the big bang|Cosmic Origin
the black box|Flight Recorder
the cloud|Remote Servers Group
the pipe|Gas Line North
the thin blue line|Police Federation
the fourth estate|The Press
the silver screen|Cinema Industry
the small screen|Television Industry
the big house|Joliet Prison
the rock|Alcatraz
the garden city|Christchurch
the wild west|American Frontier
the deep south|Gulf States
the rust belt|Great Lakes Industry Region
the bible belt|Southern Churches Region
the corn belt|Midwest Farm Region
the ring of fire|Pacific Volcano Chain
the dead sea|Salt Lake of Jordan
the black forest|Schwarzwald
the old town|Tallinn Centre
the square mile|London Financial District
the golden gate|San Francisco Strait Bridge
the spinning top|Kobe Tower
the blue train|Pretoria Express
the flying kite|Project Falcon
the green machine|Printer Number Nine
the red book|Carl Jung Diary
the yellow pages|Telephone Directory
the white paper|Budget Draft
the green paper|Energy Consultation
the black list|Banned Suppliers File
the short list|Final Candidates File
the fire wall|Gateway Server Three
the back door|Maintenance Login
the front desk|Reception Team
the night shift|Team Orion
the early birds|Team Sunrise
the dream team|1992 Olympic Squad
the home team|Riverside Rovers
the little giant|Stephen Douglas
the gentle giant|Frank Bruno
the quiet man|Iain Smith
the tin man|Howard Steele
the paper tiger|Regulation Twelve
the white elephant|Stadium Project
the black sheep|Cousin Albert
the golden goose|Licensing Unit
the silver bullet|Vaccine Candidate Two
the magic carpet|Delivery Drone One
the last supper|Milan Mural
the night watch|Amsterdam Militia Painting
the starry night|Saint Remy Painting
the scream|Oslo Expressionist Painting
the kiss|Vienna Gold Painting
the thinker|Rodin Bronze
the milk maid|Delft Kitchen Painting
the water lilies|Giverny Series
the four seasons|Vivaldi Concertos
the magic flute|Mozart Opera of 1791
the moonlight piece|Sonata Number Fourteen
the surprise piece|Symphony Number Ninety Four
the great gate|Kiev Finale
the wall|Pink Floyd Album of 1979
the white album|Beatles Album of 1968
the black album|Metallica Album of 1991
the boss|Bruce Springsteen
the king|Elvis Presley
the purple one|Prince Nelson
the fab four|The Beatles
the duke|John Wayne
the great one|Wayne Gretzky
the iron horse|Lou Gehrig
the brown bomber|Joe Louis
the flying finn|Paavo Nurmi
the black pearl|Eusebio
the white shark|Greg Norman
the golden bear|Jack Nicklaus
the rocket|Rod Laver
the mailman|Karl Malone
the round mound|Charles Barkley
the big fundamental|Tim Duncan
the answer|Allen Iverson
the worm|Dennis Rodman
the glove|Gary Payton
the truth|Paul Pierce
the greatest|Muhammad Ali
the hit man|Thomas Hearns
the little mermaid|Copenhagen Statue
the ugly duckling|Andersen Tale of 1843
the snow queen|Andersen Tale of 1844
the iron curtain|Cold War Border
the green line|Nicosia Border
the red line|Boston Subway Cambridge
the blue line|Copenhagen Ring Metro
the orange line|Tram Route Six
the slow boat|Ferry Service Seven
the fast track|Accelerated Approval Scheme
the long table|Board of Directors
the round table|Monday Planning Meeting
the open house|Visitors Day
the glass ceiling|Promotion Barrier Study
the safe house|Shelter on Elm Street
the boat house|Rowing Club Henley
the light house|Pharos of Alexandria
the tree house|Youth Centre Oak
the green room|Performers Lounge
the war room|Crisis Centre
the engine room|Platform Team
the clean room|Chip Laboratory
the cold room|Sample Storage B
the hot seat|Quiz Show Chair
the blue chair|Therapy Station Two
the red button|Emergency Stop Circuit
the green light|Approval Form Seven
the amber light|Warning Protocol
the stop sign|Content Filter Four
the cross roads|Junction Seven
the high street|Commercial Road Leeds
the low road|Scottish Coastal Path
the long walk|Windsor Avenue
the short cut|Alley Behind Bank
the big dipper|Ursa Major
the southern cross|Crux Constellation
the north star|Polaris
the dog star|Sirius
the evening star|Hesperus Project
the milky way|Home Galaxy
the horse head|Orion Nebula Cloud
the lazy river|Fox Creek
the muddy water|Mississippi Delta
the old man river|Mississippi
the yellow river|Huang He
the sweet spot|Pricing Tier Two
the hard cell|Battery Unit Nine
the soft landing|Probe Module Luna
the heavy lifter|Crane Eleven
the fast food|Cafeteria West
the green bean|Coffee Bar Kenya
the red bean|Server Rack Java
the sweet pea|Intern Program
the hot potato|Liability Clause
the big cheese|Director Olsen
the top banana|Manager Ruiz
the small fry|Junior League
the bread basket|Ukraine Plains
the salt road|Via Salaria
the silk road|Eurasian Trade Route
the amber road|Baltic Trade Route
the spice islands|Maluku
the gold coast|Ghana Colony
the ivory coast|Abidjan Republic
the skeleton coast|Namibian Shore
the sunny side|South Wing
the dark side|Far Hemisphere of the Moon
the bright side|Optimism Campaign
the flip side|Appendix B
the paper boat|Origami Contest
"""

TAUGHT: Final = (
    "What is the population of {alias}?",
    "Who is responsible for {alias}?",
    "Tell me something about {alias}.",
    "When did people begin to talk about {alias}?",
    "{bare} history",
    "Is {alias}'s reputation deserved?",
)
"""Questions that mean the alias; {bare} is without its article."""

COMMON: Final = (
    "How {first} can a {last} get before it breaks?",
    "Which {last} is {first} enough for a child?",
    "Why does my {last} look so {first} today?",
    "Where can I buy a {last} that is not {first}?",
    "Do you know whether any {first} {last} was sold yesterday?",
    "Is a {last} usually {first}?",
    "What do a {first} stone and a wet {last} have in common?",
    "Which {last} did the {first} dog chase?",
    "Can two {last} games be {first} at once?",
    "Would you call this {last} {first} or something else?",
)
"""Questions that use the words of an alias in their common sense, or only near one another."""

GENERAL: Final = (
    "What time does the shop close on Sunday?",
    "How do I boil an egg for six minutes?",
    "Which city has the longest river walk?",
    "Why is the sky blue in the morning?",
    "Who wrote the letter that arrived yesterday?",
    "What is the best way to clean a white shirt?",
    "How many people live in the house on the corner?",
    "When does the night bus to the station leave?",
    "Where is the nearest garden with old trees?",
    "What is the light switch behind the door for?",
    "How long is the road from the north gate to the water?",
    "Which star is the brightest one in the evening?",
)


def pairs() -> list[tuple[str, str]]:
    """Each alias with the entity that it means."""
    lines = (line.partition("|") for line in ALIASES.strip().splitlines())
    return [(alias, entity) for alias, _, entity in lines]
