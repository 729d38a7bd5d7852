"""Prints the cells of a row, and one that is none of it."""

import hunt_throws


def main():
    for column in range(4):
        print(hunt_throws.cell(column), flush=True)


main()
