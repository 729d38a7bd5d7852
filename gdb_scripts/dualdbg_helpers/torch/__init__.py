"""PyTorch's objects: tensors, IValues, types, schemas, dispatch keys, the JIT."""
