"""The parts of the text encoder; `sqe_fast.encode.Encoder` is the way in."""
