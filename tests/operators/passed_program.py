"""The target: calls each of the given one-liners after a stop at getsid, and writes what it passes.

Arguments: a file with JSON, a list of ``[OPERATOR, CALL]``; and a file for two lines of JSON for each. The first has by
the name of the parameter: ``[KIND, VALUE]``. KIND is the schema's type; what the call leaves to a default is left out,
for a binding may have another default than the schema. The second is a list with what the call returned.
"""

import json
import os
import sys
import warnings

import torch

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.set_grad_enabled(False)


def plain(value):
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).replace("torch.", "")
        if value.is_nested:
            return dtype  # it has no shape
        return f"{dtype} [{', '.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, complex):
        return [value.real, value.imag]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value).replace("torch.", "")


def passed(schema, args, kwargs):
    found = {}
    given = list(args)
    for argument in schema.arguments:
        if argument.name in kwargs:
            value = kwargs[argument.name]
        elif given and not argument.kwarg_only:
            value = given.pop(0)
        else:
            continue
        found[argument.name] = [
            str(argument.real_type if hasattr(argument, "real_type") else argument.type),
            plain(value),
        ]
    return found


schemas = {}
for schema in torch._C._jit_get_all_schemas():
    if schema.name.startswith("aten::"):
        name = schema.name[len("aten::") :]
        schemas[f"{name}.{schema.overload_name}" if schema.overload_name else name] = schema
with open(sys.argv[1]) as file:
    calls = json.load(file)
with open(sys.argv[2], "w", buffering=1) as out:
    for operator, call in calls:
        function, _, rest = call.partition("(")
        args, kwargs = eval(f"(lambda *args, **kwargs: (args, kwargs))({rest}", {"torch": torch})
        run = eval(function, {"torch": torch})
        out.write(json.dumps(passed(schemas[operator], args, kwargs)) + "\n")
        os.getsid(0)
        out.write(json.dumps([plain(run(*args, **kwargs))]) + "\n")
os.getsid(0)
