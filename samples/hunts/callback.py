"""The heaviest of some parts, one of which has no weight."""

import hunt_callback

PARTS = [{"weight": 2.0}, {"weight": 7.0}, {"name": "label"}]


def weight_of(part):
    return part["weight"]


def main():
    print(hunt_callback.heaviest(PARTS, weight_of), flush=True)


main()
