"""The requests of the protocol, one small module an area; each registers what it answers."""
