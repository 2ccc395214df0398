"""A timetable of thirty sentences with one contradiction in it, and how to see it by brute thought."""
# ruff: noqa: E501 - tables and formulas read best on one line

from typing import Any

TYPES: dict[str, Any] = {"Slot": ["mon1", "mon2", "mon3", "tue1", "tue2", "tue3", "wed1", "wed2", "wed3"]}
COURSES = ["algebra", "biology", "chemistry", "drama", "english", "french", "geography", "history"]
VARS: dict[str, Any] = {**dict.fromkeys(COURSES, "Slot"), **{f"room_{course}": "int 1..3" for course in COURSES}}


def _said(number: int, expr: str, note: str) -> dict[str, str]:
    return {"name": f"rule_{number}", "expr": expr, "note": note}


CONSTRAINTS: list[dict[str, str]] = [
    _said(1, "algebra != biology", "Algebra and biology share students."),
    _said(2, "algebra != chemistry", "Algebra and chemistry share students."),
    _said(3, "biology != chemistry", "Biology and chemistry share students."),
    _said(4, "drama != english", "Drama and English share a teacher."),
    _said(5, "english != french", "English and French share students."),
    _said(6, "french != geography", "French and geography share a teacher."),
    _said(7, "geography != history", "Geography and history share students."),
    _said(8, "history != drama", "History and drama share students."),
    _said(9, "algebra in {mon1, tue1, wed1}", "Algebra is taught in the first slot of a day."),
    _said(10, "drama in {mon3, tue3, wed3}", "Drama is taught in the last slot of a day."),
    _said(11, "chemistry <= tue3", "The laboratory is closed on Wednesday."),
    _said(12, "biology > chemistry", "Biology comes after chemistry."),
    _said(13, "history >= wed1", "The historian only works on Wednesday."),
    _said(14, "geography > french", "Geography comes after French."),
    _said(15, "french >= tue2", "The French teacher arrives on Tuesday noon."),
    _said(16, "room_chemistry = 1", "Chemistry needs the laboratory, room 1."),
    _said(17, "room_biology = 1", "Biology needs the laboratory, room 1."),
    _said(18, "room_drama = 3", "Drama needs the stage, room 3."),
    _said(19, "room_algebra != 3", "Algebra is not taught on the stage."),
    _said(
        20,
        "forall(s in Slot: count(algebra = s, biology = s, chemistry = s, drama = s, english = s, french = s, geography = s, history = s) <= 3)",
        "There are three rooms.",
    ),
    _said(21, "english = mon1 or english = mon2", "English is on Monday morning."),
    _said(22, "algebra < history", "Algebra comes before history."),
    _said(23, "drama > english", "Drama comes after English."),
    _said(24, "geography < history", "Geography comes before history."),
    _said(25, "history <= wed2", "History is over by the second slot of Wednesday."),
    _said(26, "directly_left_of(french, geography)", "Geography directly follows French."),
    _said(27, "geography >= wed1", "The geographer only works on Wednesday."),
    _said(28, "history != wed2", "The second slot of Wednesday is the historian's break."),
    _said(29, "room_history = room_geography", "History and geography share the map room."),
    _said(30, "chemistry >= mon2", "The laboratory is prepared in the first slot of Monday."),
]
"""History must be in the first or second slot of Wednesday (13, 25), not in the second (28), so in the first; geography
is on Wednesday (27) before history (24), which leaves it no slot. Rule 13 is not needed for that: geography before
history, geography on Wednesday, history by the second slot and not in it is already too much."""
GUILTY = {"rule_24", "rule_25", "rule_27", "rule_28"}
