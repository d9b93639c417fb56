"""Old shapes to new ones, pure, kept for good. Empty until a shape has a second version.

Each entry maps a retired tag to a function from the decoded JSON object to the object of the next version. The codec applies
them in a chain until it reaches a tag that this build decodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

UPCASTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
