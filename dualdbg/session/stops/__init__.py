"""What a stop means: facts that are read, the decision, and what is prepared for the user."""
