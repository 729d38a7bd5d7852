"""Code that torch.compile generates."""
