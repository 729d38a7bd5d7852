#include <stdio.h>

int work(int number) {
    int doubled = number * 2;
    return doubled;
}

int main(int count, char **words) {
    printf("worker %s\n", count > 1 ? words[1] : "");
    return work(21) - 37;
}
