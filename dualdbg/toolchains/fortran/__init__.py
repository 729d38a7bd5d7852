"""Fortran: procedures by their names in the source."""
