"""PyTorch's operators: their tables, their kernels, and the functions that a call passes through."""
