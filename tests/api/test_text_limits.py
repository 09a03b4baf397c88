"""Texts: lengths, blanks and control characters, in every place of every operation."""

from collections.abc import Callable

import pytest

from tests.api.field_places import PLACES, Place, Target, everywhere, raw
from tests.support.answers import error
from tests.support.callers import Api

# The specification's table of limits.
LINES = {
    "cart": {"partnerKey": 4, "platform": 50, "orderingChannel": 50, "fulfilmentChannel": 50},
    "item": {"menuKey": 20, "displayName": 100},
    "option": {"displayName": 100},
}
PARAGRAPHS = {
    "cart": {"note": 300, "specialInstructions": 300},
    "item": {"specialInstructions": 300},
}
TEXTS = {part: {**lines, **PARAGRAPHS.get(part, {})} for part, lines in LINES.items()}

PIZZA = "\U0001f355"


@pytest.mark.parametrize(("place", "field", "limit"), everywhere(TEXTS))
def test_a_text_of_n_characters_is_kept(api: Api, place: Place, field: str, limit: int) -> None:
    target = Target(api, place)

    for text in ("x" * limit, PIZZA * limit):
        assert target.kept(field, target.send(**{field: text})) == text


@pytest.mark.parametrize(("place", "field", "limit"), everywhere(TEXTS))
def test_a_text_of_one_character_more_is_refused(
    api: Api, unchanged: Callable[[], None], place: Place, field: str, limit: int
) -> None:
    target = Target(api, place)
    unchanged()

    for text in ("x" * (limit + 1), PIZZA * (limit + 1)):
        target.refuses(
            "max_length",
            f"This text must not be longer than {limit} characters; it has {limit + 1}.",
            **{field: text},
        )


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("text", ["EURO", "EUR ", "E" * 100_000], ids=["EURO", "space", "long"])
def test_a_currency_of_more_than_three_characters_is_refused(
    api: Api, unchanged: Callable[[], None], place: Place, text: str
) -> None:
    target = Target(api, place)
    unchanged()

    target.refuses(
        "max_length",
        f"This text must not be longer than 3 characters; it has {len(text)}.",
        currency=text,
    )


AS_SENT = " \u00a0x \u3000e\u0301\u00e9\ufb01\u200b\ufeff\\%'\" "


@pytest.mark.parametrize(("place", "field", "limit"), everywhere(TEXTS))
def test_a_text_is_neither_trimmed_nor_normalised(
    api: Api, place: Place, field: str, limit: int
) -> None:
    target = Target(api, place)
    text = AS_SENT[:limit]

    assert target.kept(field, target.send(**{field: text})) == text


@pytest.mark.parametrize(("place", "field", "limit"), everywhere(LINES))
def test_a_required_text_is_not_blank(
    api: Api, unchanged: Callable[[], None], place: Place, field: str, limit: int
) -> None:
    target = Target(api, place)
    unchanged()

    for text in ("", " ", "\u00a0\u2003\u3000"):
        target.refuses("blank", "This text must not be blank.", **{field: text})


@pytest.mark.parametrize(("place", "field", "limit"), everywhere(PARAGRAPHS))
def test_an_optional_text_may_be_blank(api: Api, place: Place, field: str, limit: int) -> None:
    target = Target(api, place)

    for text in ("", " ", "\n", "\t\r\n"):
        assert target.kept(field, target.send(**{field: text})) == text


# Unicode Cc and the lone surrogates; the breaks are Cc, too.
BREAKS = "\t\n\r"
CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
COMMANDS = [*(set(CONTROLS) - set(BREAKS)), "\ud800", "\udbff", "\udc00", "\udfff"]
SOME_COMMANDS = ["\0", "\x1b", "\x7f", "\x9b", "\udfff"]


def refuses(target: Target, field: str, character: str) -> None:
    response = target.send(**{field: f"a{character}b"})

    point = f"U+{ord(character):04X}"
    is_surrogate = "\ud800" <= character <= "\udfff"
    assert response.status_code == 400
    assert response.json() == error(
        "control_character",
        f"This text holds the lone surrogate {point}: half of a character."
        if is_surrogate
        else f"This text holds the control character {point}.",
        f"{target.place.pointer}/{field}",
    )


@pytest.mark.parametrize(("place", "field", "limit"), everywhere(TEXTS))
def test_refuses_what_a_printer_takes_for_a_command(
    api: Api, unchanged: Callable[[], None], place: Place, field: str, limit: int
) -> None:
    target = Target(api, place)
    unchanged()

    for character in SOME_COMMANDS:
        refuses(target, field, character)


@pytest.mark.parametrize("field", ["platform", "note"])
def test_refuses_every_control_character(
    api: Api, unchanged: Callable[[], None], field: str
) -> None:
    target = Target(api, Place("create", "cart"))

    for character in COMMANDS:
        refuses(target, field, character)


@pytest.mark.parametrize(("place", "field", "limit"), everywhere(LINES))
def test_a_line_holds_no_breaks(
    api: Api, unchanged: Callable[[], None], place: Place, field: str, limit: int
) -> None:
    target = Target(api, place)
    unchanged()

    for character in BREAKS:
        refuses(target, field, character)


@pytest.mark.parametrize(("place", "field", "limit"), everywhere(PARAGRAPHS))
def test_a_paragraph_keeps_its_breaks(api: Api, place: Place, field: str, limit: int) -> None:
    target = Target(api, place)

    for character in (*BREAKS, "\r\n"):
        text = f"{character}a{character}b{character}"
        assert target.kept(field, target.send(**{field: text})) == text


def test_an_escaped_surrogate_pair_is_one_character(api: Api) -> None:
    target = Target(api, Place("add", "item"))
    escaped = raw('"' + r"\ud83c\udf55" * 100 + '"')

    assert target.kept("displayName", target.send(displayName=escaped)) == PIZZA * 100
