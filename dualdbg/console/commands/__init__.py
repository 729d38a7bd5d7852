"""The commands of the prompt, one small module an area; importing the package registers them all."""
