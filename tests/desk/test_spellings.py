"""Words of many scripts are found however they are typed, and however they are stored."""

import re
import unicodedata

import pytest
from django.contrib.auth.models import User
from django.test import Client

from carts.models import Cart
from carts.models.cart_change import Author
from tests.desk.conftest import CARTS, correct_page, form_of, found, page_of
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

WORDS = [
    *("Tiramisù", "Crème", "Żurek", "białą", "Straße", "Rødgrød", "Phở", "đặc", "İskender"),
    *("ıspanak", "Æble", "cœur", "Jalapeño", "Пельмени", "Борщ", "ёлка", "Σουβλάκι", "μουσακάς"),
    *("김치찌개", "ピザ", "がんもどき", "寿司", "شاورما", "آش", "می‌خواهم", "חומוס", "שָׁלוֹם"),
    *("क़ोरमा", "ต้มยำกุ้ง", "l’aïoli", "5٪٥"),
]


def without_accents(word: str) -> str:
    bare = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare)


FORMS = {
    "as stored": str,
    "lower": str.lower,
    "upper": str.upper,
    "composed": lambda word: unicodedata.normalize("NFC", word),
    "decomposed": lambda word: unicodedata.normalize("NFD", word),
    "without accents": without_accents,
}


@pytest.fixture
def others(db: None) -> list[Cart]:
    return [CartFactory(items=[ItemFactory(display_name=word)]) for word in ("Cola", "Łosoś", "鮭")]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_found_in_any_form(viewer: Client, others: list[Cart], word: str) -> None:
    stored = [f"Con {form(word)} 2" for form in FORMS.values()]
    carts = [CartFactory(items=[ItemFactory(display_name=text)]) for text in dict.fromkeys(stored)]
    option = OptionFactory(display_name=word)
    carts += [
        CartFactory(items=[ItemFactory(options=[option])]),
        CartFactory(items=[ItemFactory(special_instructions=f"x{word}x")]),
        CartFactory(note=f"\u202b{word}\u202c"),
        CartFactory(special_instructions=f"{word}\n"),
    ]
    for form in FORMS.values():
        for typed in (form(word), f"\u200f{form(word)}\u2069"):
            assert found(viewer, q=typed) == carts[::-1], ascii(typed)


@pytest.mark.parametrize("word", WORDS)
def test_a_filter_takes_a_whole_value_in_any_form(
    viewer: Client, others: list[Cart], word: str
) -> None:
    wanted: Cart = CartFactory(platform=word)
    Cart.objects.by(Author("bearer", word)).change_cart(wanted.pk, {"note": "x"})
    longer = CartFactory(platform=f"{word}1")
    Cart.objects.by(Author("bearer", f"{word}1")).change_cart(longer.pk, {"note": "x"})
    for name in ("platform", "changed_by"):
        for form in FORMS.values():
            assert found(viewer, **{name: form(word)}) == [wanted], (name, ascii(form(word)))


@pytest.mark.parametrize("word", WORDS)
def test_a_colleague_is_found_by_a_name_in_any_form(
    viewer: Client, lead: Client, others: list[Cart], word: str
) -> None:
    User.objects.filter(username="anna").update(first_name=word)
    User.objects.filter(username="ben").update(first_name=f"{word}1")
    wanted = others[1]
    lead.post(correct_page(wanted), {**form_of(lead, correct_page(wanted)), "note": "x"})
    for form in FORMS.values():
        assert found(viewer, q=form(word)) == [wanted], ascii(form(word))


@pytest.mark.parametrize(
    "term",
    [
        "١٠٠١",
        "１００１",
        "\u2067١٠٠١\u2069",
        "1001،",
        "١٢٫٥٠",
        "١٠٠١، شاورما",
        "\u202bشاورما\u202c ١٠٠١",
    ],
)
def test_what_is_pasted_from_arabic_is_read(viewer: Client, others: list[Cart], term: str) -> None:
    item = ItemFactory(display_name="شاورما دجاج", price="12.5", quantity=1)
    wanted = CartFactory(restaurant_key=1001, items=[item])
    assert found(viewer, q=term) == [wanted]


def test_an_id_is_pasted_with_marks_of_direction(viewer: Client, cart: Cart) -> None:
    term = f"\u2066{str(cart.pk)[:20]}\u200e{str(cart.pk)[20:]}\u2069"
    assert viewer.get(CARTS, {"q": term}).url == page_of(cart)
