"""The norms of two layers, one of which has no weights yet."""

import hunt_fast


def main():
    for layer in range(2):
        print(layer, hunt_fast.norm_of(layer), flush=True)


main()
