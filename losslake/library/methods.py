"""A method for each question of `methods.json`; `methods.pyi` has their types, for editors and mypy."""

import json

from losslake.library.question_method import question_method
from losslake_schema.package_files import read_text


class QuestionMethods:
    """The methods of a lake that ask questions."""


for _name, _question in json.loads(read_text("losslake.library", "methods.json")).items():
    setattr(QuestionMethods, _name, question_method(_name, _question))
