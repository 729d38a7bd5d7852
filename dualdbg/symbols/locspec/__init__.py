"""What a user types for a breakpoint: the locations that a spec means, its suffixes, and presets."""
