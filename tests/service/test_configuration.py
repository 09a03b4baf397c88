"""Every setting that the environment can change is in the operators' table."""

import re

from django.conf import settings

SETTINGS = settings.BASE_DIR / "cartsvc/settings.py"
README = settings.BASE_DIR / "cartsvc/README.md"


def test_every_variable_is_documented() -> None:
    variables = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', SETTINGS.read_text()))
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", README.read_text(), re.MULTILINE))

    assert len(variables) > 25
    assert variables - documented == set()
