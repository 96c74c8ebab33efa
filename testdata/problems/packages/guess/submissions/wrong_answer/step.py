# Ends by itself after the ten guesses it has: a program that goes on asks a validator that is gone, and then it is
# chance whether it or the validator ends first.
for guess in range(1, 11):
    print(guess, flush=True)
    if input() == "correct":
        break
