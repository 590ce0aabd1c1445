"""Steps copies of a Procgen game in a Python that has Procgen; our code imports nothing from this file.

    PYTHON server.py GAME COPIES

It reads commands from its standard input and answers on its standard output, in bytes: a letter, and arrays of known
size and order. Numbers are little-endian. S: count (4 bytes), copies and levels (4 each, count of them) → frames. A: an
action (4) for each copy → frames of all, rewards (float, 4), whether an episode ended (1). G → the length (4) of each
copy's state, then the states. L: the same → a zero. A frame is 64 × 64 × 3 bytes, row by row.

An episode starts from the first state of its level, which a game of that level alone computes once. So it is a function
of the level and of its actions. After its end Procgen continues with a game of its choice; callers never step that
game.
"""

import struct
import sys


def main():
    """Answers until its input ends."""
    import numpy as np
    from procgen import ProcgenGym3Env  # pyright: ignore[reportAttributeAccessIssue]

    def one(level):
        return ProcgenGym3Env(
            num=1,
            env_name=game,
            num_levels=1,
            start_level=level,
            distribution_mode="easy",
            num_threads=0,
            rand_seed=level,
        )

    def first_of(level):
        if level not in begins:
            begins[level] = one(level).callmethod("get_state")[0]
        return begins[level]

    def frames(which):
        return b"".join(games[copy].observe()[1]["rgb"][0].tobytes() for copy in which)

    def numbers(kind, count):
        return np.frombuffer(source.read(4 * count), kind).tolist()

    game, copies = sys.argv[1], int(sys.argv[2])
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    games, begins = [one(0) for _ in range(copies)], {}
    while True:
        letter = source.read(1)
        if letter == b"S":
            (count,) = struct.unpack("<i", source.read(4))
            which, levels = numbers("<i4", count), numbers("<i4", count)
            for copy, level in zip(which, levels, strict=True):
                games[copy].callmethod("set_state", [first_of(level)])
            sink.write(frames(which))
        elif letter == b"A":
            rewards, ended = [], []
            for own, action in zip(games, numbers("<i4", copies), strict=True):
                own.act(np.array([action], np.int32))
            for own in games:
                reward, _, first = own.observe()
                rewards.append(float(reward[0]))
                ended.append(bool(first[0]))
            sink.write(frames(range(copies)) + np.array(rewards, "<f4").tobytes() + bytes(ended))
        elif letter == b"G":
            states = [own.callmethod("get_state")[0] for own in games]
            sink.write(np.array([len(state) for state in states], "<i4").tobytes() + b"".join(states))
        elif letter == b"L":
            for own, length in zip(games, numbers("<i4", copies), strict=True):
                own.callmethod("set_state", [source.read(length)])
            sink.write(b"\0")
        else:
            return
        sink.flush()


if __name__ == "__main__":
    main()
