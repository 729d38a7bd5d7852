"""The commands of the prompt, one small module for each area; the import of the package registers them all."""
