"""Rules follow from records alone: each level by its own condition, each cap told, nothing by hand."""

import msgspec
import pytest

from evidence.derive import ALPHA, DELTA, N_ADVICE, N_STRONG, derive, verified
from evidence.inference import Pairs
from evidence.records import Cell, Cost, Provenance, sealed
from tests.evidence.made import CLEAR_LOSS, STRONG_GAIN, changed, confirmed, record


def only_rule(records):
    (rule,) = derive(records).rules
    return rule


def test_a_clear_gain_that_held_out_items_confirm_is_recommended():
    rule = only_rule(confirmed())
    assert rule.level == "recommended"
    assert rule.low > DELTA
    assert rule.heldout > 0
    assert len(rule.records) == 2


def test_a_clear_gain_without_held_out_items_stays_experimental():
    assert only_rule([record()]).level == "experimental"


def test_a_gain_that_the_held_out_items_contradict_gives_no_advice():
    records = [record(items="d"), record(CLEAR_LOSS, split="heldout", items="h")]
    assert only_rule(records).level == "neutral"


def test_held_out_items_confirm_whatever_release_they_were_measured_in():
    derived, heldout = record(items="d", release="spring"), record(split="heldout", items="h", release="autumn")
    rule = only_rule([derived, heldout])
    assert (rule.level, rule.release) == ("recommended", "spring")
    assert rule.records == (derived.record_id, heldout.record_id)


def test_held_out_items_confirm_their_own_cell_only():
    other = record(split="heldout", items="h", cell=Cell(goal="solve", n_vars=(5, 6)))
    assert only_rule([record(items="d", cell=Cell(goal="solve", n_vars=(3, 3))), other]).level == "experimental"


def test_held_out_items_alone_give_no_rule():
    assert derive([record(split="heldout", items="h")]).rules == ()


def test_a_clear_gain_on_fewer_than_twenty_items_stays_experimental():
    few = Pairs(1, N_STRONG - 3, 0, 1)
    rule = only_rule(confirmed(few))
    assert (rule.level, rule.pairs.n) == ("experimental", N_STRONG - 1)
    assert rule.low > DELTA


def test_a_clear_loss_is_discouraged():
    rule = only_rule([record(CLEAR_LOSS)])
    assert rule.level == "discouraged"
    assert rule.high < 0


def test_no_gain_is_discouraged_only_when_the_action_is_dearer():
    same = Pairs(195, 1, 1, 3)
    assert only_rule([record(same)]).level == "neutral"
    dear = only_rule([record(same, cost=Cost(tokens_with=900, tokens_without=300))])
    assert dear.level == "discouraged"
    assert "cost" in dear.why


def test_a_cell_under_ten_items_is_silent_however_clear_it_looks():
    assert only_rule(confirmed(Pairs(0, N_ADVICE - 1, 0, 0))).level == "neutral"
    assert only_rule([record(Pairs(0, 0, N_ADVICE - 1, 0))]).level == "neutral"


def test_one_count_more_or_less_can_change_the_level():
    """The smallest win that is more than chance at 80 %: taking one item away silences it."""
    assert only_rule([record(Pairs(6, 4, 1, 9))]).level == "experimental"
    assert only_rule([record(Pairs(6, 3, 1, 10))]).level == "experimental"
    assert only_rule([record(Pairs(6, 2, 1, 11))]).level == "neutral"


def test_more_cells_in_one_release_make_each_bound_wider():
    some = Pairs(8, 8, 1, 8)
    alone = only_rule(confirmed(some))
    crowd = [record(Pairs(10, 3, 3, 10), cell=Cell(n_vars=(i, i)), items="x") for i in range(1, 30)]
    together = next(r for r in derive([*confirmed(some), *crowd]).rules if r.cell == Cell())
    assert together.low < alone.low
    assert together.p_gain > alone.p_gain


def test_cells_of_another_release_do_not_count_into_the_correction():
    crowd = [record(cell=Cell(n_vars=(i, i)), release="other") for i in range(1, 30)]
    together = next(r for r in derive([*confirmed(), *crowd]).rules if r.release == "made")
    assert together == only_rule(confirmed())


def test_noise_in_many_cells_recommends_nothing_and_discourages_nothing():
    noise = [r for i in range(40) for r in confirmed(Pairs(8, 5, 5, 8), cell=Cell(n_vars=(i + 1, i + 1)))]
    assert {r.level for r in derive(noise).rules} == {"neutral"}


def test_two_runs_over_the_same_items_count_once_and_over_others_are_pooled():
    older = record(provenance=Provenance(date="2026-01-01"), items="same")
    newer = record(CLEAR_LOSS, provenance=Provenance(date="2026-06-01"), items="same")
    assert only_rule([older, newer]).pairs == CLEAR_LOSS
    assert only_rule([record(items="a"), record(items="b")]).pairs == STRONG_GAIN.plus(STRONG_GAIN)


def test_the_same_items_measured_again_in_another_release_replace_the_earlier_ones_whatever_they_say():
    """No rule rests on the better of two runs: the later counts, the earlier is kept and says why it does not."""
    first = record(items="d", release="one", provenance=Provenance(source="one.json", date="2026-11-30"))
    again = record(CLEAR_LOSS, items="d", release="two", provenance=Provenance(source="two.json", date="2026-12-01"))
    other = record(items="e", release="one", provenance=Provenance(source="one.json", date="2026-11-30"))
    made = derive([first, again])
    assert [rule.pairs for rule in made.rules] == [CLEAR_LOSS]
    assert "measured again" in made.dropped[first.record_id]
    assert set(derive([other, again]).dropped) == set()


@pytest.mark.parametrize("split", ["tune", "foreign"])
def test_what_was_tuned_on_or_is_foreign_gives_no_rule_and_says_why(split):
    evidence = derive([record(split=split)])
    assert evidence.rules == ()
    assert split in next(iter(evidence.dropped.values()))


@pytest.mark.parametrize(
    ("provenance", "told"),
    [
        (Provenance(date="2026-11-30", dirty=True), "uncommitted"),
        (Provenance(date="2026-11-30", kind="published", counts="pairing"), "reconstructed"),
    ],
)
@pytest.mark.parametrize("pairs", [STRONG_GAIN, CLEAR_LOSS])
def test_shaky_records_never_carry_more_than_experimental(provenance, told, pairs):
    rule = only_rule(confirmed(pairs, provenance=provenance))
    assert rule.level == "experimental"
    assert told in rule.caps[0]


def test_a_record_touched_up_by_one_count_is_refused():
    touched = changed(record(), pairs=Pairs(5, 21, 1, 4))
    with pytest.raises(ValueError, match="was changed"):
        derive([touched])


def test_a_rule_written_by_hand_is_refused():
    evidence = derive([record()])
    forged = msgspec.structs.replace(evidence.rules[0], level="recommended")
    with pytest.raises(ValueError, match="build the file anew"):
        verified(msgspec.structs.replace(evidence, rules=(forged,)))
    assert verified(evidence) is evidence


def test_the_order_of_the_records_does_not_matter():
    records = [*confirmed(), *confirmed(CLEAR_LOSS, cell=Cell(goal="optimize")), record(model="llama-3.1-8b")]
    assert derive(records) == derive(reversed(records))


def test_a_rule_ends_a_year_after_its_measurement_unless_it_says_otherwise():
    assert only_rule([record()]).expires == "2027-11-30"
    assert only_rule([record(expires="2026-12-24")]).expires == "2026-12-24"


def test_the_id_depends_on_every_field():
    base = record()
    other = sealed(changed(base, invalid_with=1))
    assert base.record_id != other.record_id
    assert ALPHA == 0.05
