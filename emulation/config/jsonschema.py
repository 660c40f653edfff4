"""The JSON Schema of study files, from which an editor completes and checks them.

    python -m qdisclab.emulation.config.jsonschema > docs/study.schema.json

It covers less than `emulate check`: not the names that a file defines, nor which values exclude
each other. Of kinds it has those of the packages and of the studies that ship.
"""

import json
import sys
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from qdisclab.emulation.config import kinds, studyfile
from qdisclab.emulation.kinds import rigs, traffic
from qdisclab.emulation.study import studies

TEMPLATE = "#/$defs/{model}"


class _Generator(GenerateJsonSchema):
    """A generator that admits any value where only our own code can check it."""

    def function_plain_schema(
        self, schema: core_schema.PlainValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """Admit any value."""
        return {}

    def is_instance_schema(self, schema: core_schema.IsInstanceSchema) -> JsonSchemaValue:
        """Admit any value."""
        return {}


def generate() -> dict[str, Any]:
    """Return the schema as a dictionary."""
    for folder in studies.shipped().values():
        kinds.add(folder)
    whole = _schema(TypeAdapter(studyfile.StudyFile))
    definitions = whole["$defs"]
    rig, load = _schema(rigs.KINDS.adapter), _schema(traffic.KINDS.adapter)
    for schema in (rig, load):
        definitions |= schema.pop("$defs")
    # A rig is merged from those of the file and of an experiment: neither need be complete.
    names = [reference["$ref"].rpartition("/")[2] for reference in rig["oneOf"]]
    for name in names:
        definitions[name].pop("required", None)
    common = {"anyOf": [{"$ref": TEMPLATE.format(model=name)} for name in names]}
    whole["properties"]["rig"] = common
    experiment = definitions["ExperimentSection"]["properties"]
    experiment["rig"], experiment["traffic"] = common, load
    value = {"type": ["string", "number", "boolean", "array"]}
    block = {"type": "object", "additionalProperties": value}
    experiment["sweep"] = {"anyOf": [block, {"type": "array", "items": block}]}
    for definition in definitions.values():
        definition.get("properties", {}).pop("folder", None)
    whole["properties"]["format"] = {"const": 1, "description": "of this file"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def _schema(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    return adapter.json_schema(ref_template=TEMPLATE, schema_generator=_Generator)


def text() -> str:
    """Return the text of the file in `docs`."""
    return json.dumps(generate(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
