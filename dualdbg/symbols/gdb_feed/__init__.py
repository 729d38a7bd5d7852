"""What gdb is given of each library, and which library needs which."""
