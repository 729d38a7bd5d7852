"""All operators of the process with their schemas, and the dispatch keys of a few tensors."""

import torch
from publishing import publish, stop

schemas = {}
for schema in torch._C._jit_get_all_schemas():
    schemas[schema.name + ("." + schema.overload_name if schema.overload_name else "")] = str(schema)
tensors = {
    "plain": torch.ones(2, requires_grad=True),
    "sparse": torch.eye(2).to_sparse(),
    "meta": torch.empty(2, device="meta"),
    "conjugate": torch.ones(2, dtype=torch.complex64).conj(),
    "quantized": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    "inference": torch.inference_mode()(torch.ones)(2),
}
keys = {name: torch._C._dispatch_keys(tensor) for name, tensor in tensors.items()}
more = {
    "schemas": schemas,
    "operators": torch._C._dispatch_get_all_op_names(),
    "keys": {name: str(value) for name, value in keys.items()},
    "bits": {name: value.raw_repr() for name, value in keys.items()},
    "highest": {name: value.highestPriorityTypeId().name for name, value in keys.items()},
}
publish(more, **{name: tensor._cdata for name, tensor in tensors.items()})
stop()
