"""The commands of the helpers. Each is a function from arguments to an :class:`~..answers.Answer`."""
