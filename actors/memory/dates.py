"""Dates as people write them, to seconds since 1970: coarse ones are the period that they name."""

import datetime as dt
import re
from typing import Final

_FORM: Final = re.compile(
    r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?)?)?"
)
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class DateError(ValueError):
    """Not a date that is understood."""


def _parts(text: str) -> tuple[re.Match[str], dt.datetime]:
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise DateError(f"{text!r} is no date like 2019, 2019-05, 2019-05-01 or 2019-05-01T12:00:00Z")
    year, month, day, hour, minute, second, zone = match.groups()
    try:
        moment = dt.datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=dt.UTC
        )
        if zone and zone != "Z":
            sign = -1 if zone[0] == "-" else 1
            moment -= sign * dt.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    except (ValueError, OverflowError) as error:
        raise DateError(f"{text!r} is no date: {error}") from error
    return match, moment


def start_of(text: str) -> int:
    """The first second of the period that a date names.

    Raises:
        DateError: when it is none.
    """
    return int((_parts(text)[1] - _EPOCH).total_seconds())


def end_of(text: str) -> int:
    """The first second after the period: valid_to 2020 means all of 2020.

    Raises:
        DateError: when it is none.
    """
    match, moment = _parts(text)
    _, month, day, hour, *_ = match.groups()
    try:
        if hour:
            after = moment
        elif day:
            after = moment + dt.timedelta(days=1)
        elif month:
            after = (moment + dt.timedelta(days=31)).replace(day=1)
        else:
            after = moment.replace(year=moment.year + 1)
    except (ValueError, OverflowError) as error:
        raise DateError(f"{text!r} is too late a date") from error
    return int((after - _EPOCH).total_seconds())


def last_day(seconds: int | None) -> str | None:
    """The end of a validity as it was given: the last day that is within it, or the moment where it is not midnight."""
    if seconds is None:
        return None
    return show(seconds - 86_400) if seconds % 86_400 == 0 else show(seconds)


def show(seconds: int | None) -> str | None:
    """A stored moment as a date, or as date and time where it is not midnight; None stays None."""
    if seconds is None:
        return None
    moment = _EPOCH + dt.timedelta(seconds=seconds)
    return moment.date().isoformat() if seconds % 86_400 == 0 else moment.isoformat().replace("+00:00", "Z")
