"""One module a subcommand, each with ``main(words) -> exit status``; imported when it is used."""
