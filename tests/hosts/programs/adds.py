def run(number):
    total = 0
    for i in range(number):
        total += i
    return total
