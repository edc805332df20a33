"""Checks an OpenAPI description with `openapi-spec-validator`, and JSON values against its schemas with `jsonschema`.

Reads {"document": …, "values": [{"schema": NAME, "value": …, "valid": BOOL}, …]} from standard input. Prints each
problem; exits with 1 if there is one.
"""

import json
import sys

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

DOCUMENT = "urn:openapi"


def problems(given):
    document = given["document"]
    for error in OpenAPIV31SpecValidator(document).iter_errors():
        yield f"the description: {error.message} at {list(error.absolute_path)}"
    for name, schema in document["components"]["schemas"].items():
        for error in Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema):
            yield f"{name}: {error.message}"
    registry = Registry().with_resource(DOCUMENT, DRAFT202012.create_resource(document))
    for case in given["values"]:
        schema = {"$ref": f"{DOCUMENT}#/components/schemas/{case['schema']}"}
        error = next(Draft202012Validator(schema, registry=registry).iter_errors(case["value"]), None)
        if (error is None) != case["valid"]:
            found = "accepted" if error is None else f"refused ({error.message[:500]})"
            yield f"{case['schema']}: {found}: {json.dumps(case['value'])[:500]}"


found = list(problems(json.load(sys.stdin)))
print("\n".join(found))
sys.exit(1 if found else 0)
