"""Looks an object up again and again: its count of references should stay the same."""

import hunt_table


class Model:
    pass


def look_up(table, model):
    hunt_table.has(table, "model")
    hunt_table.get(table, "model")
    return len(table)


def main():
    model = Model()
    for _ in range(3):
        look_up({"model": model}, model)


main()
