"""Looks up three prices, one of which is not in the list."""

import hunt_list


def price(key):
    return hunt_list.value_of(key)


def main():
    for key in (1, 3, 4):
        print(key, price(key), flush=True)


main()
