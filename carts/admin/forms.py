"""The forms that correct a cart, an item and its options.

They use the model's validators and keep texts exactly as typed.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from carts.admin.display import LABELS
from carts.admin.slips import amount
from carts.limits import validate_line
from carts.models import Cart, CartItem, CartItemOption
from carts.models.change import WHY_LENGTH
from carts.models.writes import CHANGEABLE

NO_NUMBER = {"invalid": "Enter a number with a point, such as 9.50."}


class ExactForm(forms.ModelForm):
    """A form that does not trim texts and returns untouched values unchanged."""

    Meta: ClassVar[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, forms.CharField):
                field.strip = False

    def values(self) -> dict[str, Any]:
        """Return the value of each field: the typed one, or the initial one if untouched."""
        sent = {name: self.cleaned_data[name] for name in self.Meta.fields}
        kept = self.initial.keys() - set(self.changed_data)
        return sent | {name: self.initial[name] for name in kept}


class Paragraph(forms.CharField):
    """A text of several lines. Browsers send CRLF for a line end, which is not a change."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        return _line_feeds(super().to_python(value))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(_line_feeds(initial), _line_feeds(data))


def _line_feeds(text: Any) -> Any:
    return text.replace("\r\n", "\n").replace("\r", "\n") if isinstance(text, str) else text


def _digits() -> forms.TextInput:
    # A mouse wheel would change the value of a number input.
    return forms.TextInput({"inputmode": "numeric"})


class WhyForm(forms.Form):
    """The reason for a change, which every form of the desk takes."""

    why = forms.CharField(
        label="Why (optional, for staff only)",
        required=False,
        max_length=WHY_LENGTH,
        empty_value=None,
        validators=[validate_line],
    )


class CartForm(ExactForm):
    """The form of a cart without its items."""

    class Meta:
        model = Cart
        fields = CHANGEABLE
        labels: ClassVar = LABELS
        field_classes: ClassVar = {"note": Paragraph, "special_instructions": Paragraph}
        widgets: ClassVar = {
            "note": forms.Textarea({"rows": 3}),
            "special_instructions": forms.Textarea({"rows": 3}),
        }


class ItemForm(ExactForm):
    """The form of an item without its options."""

    class Meta:
        model = CartItem
        fields = (
            "display_name",
            "quantity",
            "price",
            "special_instructions",
            "menu_key",
            "menu_version",
            "menu_item_key",
        )
        labels: ClassVar = LABELS
        error_messages: ClassVar = {"price": NO_NUMBER}
        field_classes: ClassVar = {"special_instructions": Paragraph}
        widgets: ClassVar = {
            "quantity": _digits(),
            "price": forms.TextInput({"inputmode": "decimal"}),
            "special_instructions": forms.Textarea({"rows": 3}),
            "menu_version": _digits(),
            "menu_item_key": _digits(),
        }


class OptionForm(ExactForm):
    """The form of one option: a row below the item."""

    class Meta:
        model = CartItemOption
        fields = ("display_name", "price", "option_set_key", "option_set_item_key")
        labels: ClassVar = LABELS
        error_messages: ClassVar = {"price": NO_NUMBER}
        widgets: ClassVar = {
            "price": forms.TextInput({"inputmode": "decimal"}),
            "option_set_key": _digits(),
            "option_set_item_key": _digits(),
        }

    def has_changed(self) -> bool:
        """Return whether the row is filled in."""
        return any(self.data.get(self.add_prefix(name)) for name in self.Meta.fields)


OptionFormSet = forms.formset_factory(
    OptionForm,
    extra=1,
    can_delete=True,
    can_delete_extra=False,
    max_num=settings.MAX_OPTIONS,
    absolute_max=settings.MAX_OPTIONS + 1,
    validate_max=True,
)


class ItemEditor:
    """The forms of one item and its options, which a page shows as one."""

    def __init__(
        self, currency: str, item: Mapping[str, Any] | None, data: Mapping[str, Any] | None = None
    ) -> None:
        item = item or {"options": []}
        self.currency = currency
        self.form = ItemForm(data, initial=_initial(ItemForm, item, currency))
        self.options = OptionFormSet(
            data,
            prefix="options",
            initial=[_initial(OptionForm, option, currency) for option in item["options"]],
        )

    def is_valid(self) -> bool:
        """Validate the item and every option. Return whether all of them are valid."""
        return all([self.form.is_valid(), self.options.is_valid()])

    def values(self) -> dict[str, Any]:
        """Return the item in the form that `CartManager.replace_item` expects."""
        options = [
            {**form.values(), "currency": self.currency}
            for form in self.options.forms
            # The blank row at the end is not an option.
            if form not in self.options.deleted_forms and form.has_changed()
        ]
        return {**self.form.values(), "currency": self.currency, "options": options}


def _initial(form: type[ExactForm], values: Mapping[str, Any], currency: str) -> dict[str, Any]:
    initial = {name: values[name] for name in form.Meta.fields if name in values}
    if "price" in initial:
        # Show as many decimals as the currency has.
        initial["price"] = Decimal(amount(initial["price"], currency).replace(",", ""))
    return initial
