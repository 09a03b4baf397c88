"""The forms that correct a cart, an item and its options, made of the types of their values."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.text import normalize_newlines

from carts.admin.formatting import format_amount, label_of, parse_amount
from carts.changeable_fields import CHANGEABLE_CART_FIELDS
from carts.models.cart_change import WHY_LENGTH
from carts.models.columns import column_names
from carts.records import Item, NewCart, Option
from carts.value_types import (
    Choice,
    Currency,
    Guid,
    Integer,
    Line,
    Price,
    Record,
    Text,
    is_optional,
    types_of,
)

CHANNELS = ("fulfilment_channel", "ordering_channel", "platform")


class MultilineField(forms.CharField):
    """A text of several lines. Browsers send CRLF for a line end, which is not a change."""

    widget = forms.Textarea({"rows": 3})

    def to_python(self, value: object) -> str | None:
        text = super().to_python(value)
        return text and normalize_newlines(text)

    def has_changed(self, initial: object, data: object) -> bool:
        return super().has_changed(self.to_python(initial), data)


def shown_price(price: Decimal, currency: str) -> Decimal:
    """Return the price with the decimals that it is shown with, and one more for 1.255 EUR."""
    text = format_amount(price, currency).replace(",", "")
    return Decimal(text + "0" * (len(parse_amount(text, currency)) - 1))


class AmountField(forms.DecimalField):
    widget = forms.TextInput({"inputmode": "decimal"})
    default_error_messages: ClassVar = {"invalid": "Enter a number, such as 9.50."}
    currency = ""

    def prepare_value(self, value: Any) -> Any:
        return shown_price(value, self.currency) if isinstance(value, Decimal) else value

    def to_python(self, value: object) -> Any:
        text = str(value or "").strip()
        numbers = parse_amount(text, self.currency)
        if len(numbers) == 2:
            lower = shown_price(numbers[0], self.currency)
            raise ValidationError(f"This may be two amounts: type {lower} or {numbers[1]}.")
        if text and not numbers:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return numbers[0] if numbers else None


class WholeNumberField(forms.IntegerField):
    # A mouse wheel would change the value of a number input.
    widget = forms.TextInput({"inputmode": "numeric"})

    def to_python(self, value: object) -> int | None:
        if len(numbers := parse_amount(str(value))) == 2:
            low, high = numbers
            raise ValidationError(f"This may be two numbers: type {low.normalize():f} or {high}.")
        return super().to_python(value)


def form_field(
    record: Record, name: str, currency: str = "", *, may_be_empty: bool = False
) -> forms.Field:
    """Return the form's field of a record's field. It does not trim texts."""
    kind, optional = types_of(record)[name], may_be_empty or is_optional(record, name)
    options: dict[str, Any] = {
        "label": label_of(name),
        "required": not optional,
        "validators": [kind.check_python],
    }
    empty_value = None if optional else ""
    match kind:
        case Text():
            texts = MultilineField if kind.multiline else forms.CharField
            field = texts(strip=False, empty_value=empty_value, **options)
            # Without `maxlength`, at which browsers cut what is pasted, and count emoji as two.
            if name in CHANNELS:
                field.widget.attrs |= {"list": f"suggested-{name}", "autocomplete": "off"}
            if name == "display_name":
                field.widget.attrs["list"] = record.__name__
            return field
        case Integer():
            return WholeNumberField(**options)
        case Price():
            amount_field = AmountField(**options)
            amount_field.currency = currency
            return amount_field
        case Currency():
            return forms.CharField(empty_value=empty_value, **options)
        case Guid():
            return forms.UUIDField(**options)
        case Choice():
            words = [("", "—"), *((word, word) for word in kind.words)]
            return forms.TypedChoiceField(choices=words, empty_value=empty_value, **options)
    raise TypeError(f"There is no form field for {kind}.")


class RecordForm(forms.Form):
    """A form of some fields of a record, of which the `first` is corrected most."""

    record: ClassVar[Record]
    names: ClassVar[tuple[str, ...]]
    first = ""

    def __init__(self, data: QueryDict | None = None, *, currency: str, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.currency = currency
        self.fields |= {name: form_field(self.record, name, currency) for name in self.names}
        if self.first:
            self.fields[self.first].widget.attrs["autofocus"] = True

    def values(self) -> dict[str, Any]:
        """Return the value of each field: the typed one, or the initial one if untouched."""
        sent = {name: self.cleaned_data[name] for name in self.names}
        kept = self.initial.keys() & sent.keys() - set(self.changed_data)
        return sent | {name: self.initial[name] for name in kept}


def names_of(record: Record, *first: str) -> tuple[str, ...]:
    """Return the fields of a form: these first, then the others. The currency is the cart's."""
    others = (name for name in column_names(record) if name not in {*first, "currency"})
    return *first, *others


class WhyForm(forms.Form):
    why = forms.CharField(
        label="Why (optional, for staff only)",
        required=False,
        empty_value=None,
        validators=[cast("Any", Line(WHY_LENGTH).check)],
    )


class CartForm(RecordForm):
    record, names, first = NewCart, CHANGEABLE_CART_FIELDS, "note"


class OptionForm(RecordForm):
    record = Option
    names = names_of(Option, "display_name", "price")


OptionFormSet = forms.formset_factory(
    OptionForm,
    can_delete=True,
    can_delete_extra=False,
    max_num=settings.MAX_OPTIONS,
    absolute_max=settings.MAX_OPTIONS + 1,
    validate_max=True,
)


class ItemForm(RecordForm):
    record = Item
    names = names_of(Item, "display_name", "quantity", "price", "special_instructions")

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        currency: str,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        self.first = "quantity" if initial else "display_name"
        super().__init__(data, currency=currency, initial=initial or {"quantity": 1})
        self.options = OptionFormSet(
            data,
            prefix="options",
            initial=[option._asdict() for option in self.initial.get("options", ())],
            form_kwargs={"currency": currency},
        )

    def is_valid(self) -> bool:
        # Both are called, so that all errors show.
        return all([super().is_valid(), self.options.is_valid()])

    def values(self) -> dict[str, Any]:
        options = [
            Option(**form.values(), currency=self.currency)
            for form in self.options.forms
            # The blank row at the end is not an option.
            if form not in self.options.deleted_forms and (form.initial or form.has_changed())
        ]
        return super().values() | {"options": tuple(options)}


def offers(items: Iterable[Item], currency: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return what the forms fill in if the name of a dish or an option is chosen, by the names."""
    found: dict[str, dict[str, dict[str, str]]] = {"Item": {}, "Option": {}}
    for item in items:
        editors: list[tuple[type[RecordForm], Item | Option]] = [(ItemForm, item)]
        for form, record in editors + [(OptionForm, option) for option in item.options]:
            # What is optional is one customer's wish.
            names = [n for n in form.names if n != "quantity" and not is_optional(form.record, n)]
            # As text, because a browser's numbers are doubles.
            texts = {name: str(getattr(record, name)) for name in names}
            texts["price"] = str(shown_price(record.price, currency))
            found[form.record.__name__].setdefault(record.display_name, texts)
    return found
