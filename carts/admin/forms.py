"""The forms that correct a cart, an item and its options, with the validators of the models."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.db import models
from django.utils.text import normalize_newlines

from carts.admin.display import LABELS, amount
from carts.limits import validate_line
from carts.models import Cart, CartItem, CartItemOption
from carts.models.change import WHY_LENGTH
from carts.models.writes import CHANGEABLE


class Paragraph(forms.CharField):
    """A text of several lines. Browsers send CRLF for a line end, which is not a change."""

    widget = forms.Textarea({"rows": 3})

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return text and normalize_newlines(text)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.to_python(initial), data)


def form_field(column: models.Field) -> forms.Field | None:
    """Return the form's field of a model's field. It does not trim texts."""
    how: dict[str, Any] = {"label": LABELS.get(column.name)}
    match column:
        case models.CharField():
            how["form_class"] = Paragraph if column.null else forms.CharField
            how["strip"] = False
        # A mouse wheel would change the value of a number input.
        case models.IntegerField():
            how["widget"] = forms.TextInput({"inputmode": "numeric"})
        case models.DecimalField():
            how["widget"] = forms.TextInput({"inputmode": "decimal"})
            how["error_messages"] = {"invalid": "Enter a number with a point, such as 9.50."}
    return column.formfield(**how)


class ExactForm(forms.ModelForm):
    """A form that returns untouched values unchanged."""

    class Meta:
        fields: ClassVar[Any] = ()
        formfield_callback = form_field

    def values(self) -> dict[str, Any]:
        """Return the value of each field: the typed one, or the initial one if untouched."""
        sent = {name: self.cleaned_data[name] for name in self.Meta.fields}
        kept = self.initial.keys() - set(self.changed_data)
        return sent | {name: self.initial[name] for name in kept}


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

    class Meta(ExactForm.Meta):
        model = Cart
        fields = CHANGEABLE


class OptionForm(ExactForm):
    """The form of one option: a row below the item."""

    class Meta(ExactForm.Meta):
        model = CartItemOption
        fields = ("display_name", "price", "option_set_key", "option_set_item_key")

    def has_changed(self) -> bool:
        """Return whether the row is filled in."""
        return any(self.data.get(self.add_prefix(name)) for name in self.Meta.fields)


OptionFormSet = forms.formset_factory(
    OptionForm,
    can_delete=True,
    can_delete_extra=False,
    max_num=settings.MAX_OPTIONS,
    absolute_max=settings.MAX_OPTIONS + 1,
    validate_max=True,
)


class ItemForm(ExactForm):
    """The form of an item, with the rows of its `options`."""

    class Meta(ExactForm.Meta):
        model = CartItem
        fields = (
            *("display_name", "quantity", "price", "special_instructions"),
            *("menu_key", "menu_version", "menu_item_key"),
        )

    def __init__(
        self, currency: str, item: Mapping[str, Any] | None, data: Mapping[str, Any] | None
    ) -> None:
        item = item or {"options": []}
        super().__init__(data, initial=_initial(ItemForm, item, currency))
        rows = [_initial(OptionForm, option, currency) for option in item["options"]]
        self.options = OptionFormSet(data, prefix="options", initial=rows)
        self.currency = currency

    def is_valid(self) -> bool:
        # Both are called, so that all errors show.
        return all([super().is_valid(), self.options.is_valid()])

    def values(self) -> dict[str, Any]:
        """Return the item as `CartManager.replace_item` expects it."""
        options = [
            {**form.values(), "currency": self.currency}
            for form in self.options.forms
            # The blank row at the end is not an option.
            if form not in self.options.deleted_forms and form.has_changed()
        ]
        return {**super().values(), "currency": self.currency, "options": options}


def _initial(form: type[ExactForm], values: Mapping[str, Any], currency: str) -> dict[str, Any]:
    initial = {name: values[name] for name in form.Meta.fields if name in values}
    if "price" in initial:
        # Show as many decimals as the currency has.
        initial["price"] = Decimal(amount(initial["price"], currency).replace(",", ""))
    return initial
