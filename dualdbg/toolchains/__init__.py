"""What is known of a language, a compiler or a framework whose code is recognised: a folder for each."""
