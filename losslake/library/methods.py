"""A method for each question of `methods.json`; `methods.pyi` has their types, for editors and mypy."""

import json
from pathlib import Path

from losslake.library.question_method import question_method


class QuestionMethods:
    """The methods of a lake that ask questions."""


for _name, _question in json.loads(Path(__file__).with_suffix(".json").read_bytes()).items():
    setattr(QuestionMethods, _name, question_method(_name, _question))
