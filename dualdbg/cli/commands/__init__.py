"""One module for each subcommand, with ``main(words) -> exit status``; it is imported when it is used."""
