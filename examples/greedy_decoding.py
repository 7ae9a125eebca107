"""Greedy decoding with an early stop, as one graph: the loop ends when every sequence has ended."""

from __future__ import annotations

import torch

import ostinato as ost

nn = torch.nn

END, VOCABULARY, LONGEST = 0, 32, 24


class Decoder(nn.Module):
    """A small recurrent decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 32)
        self.cell = nn.GRUCell(32, 32)
        self.head = nn.Linear(32, VOCABULARY)

    def forward(self, token: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        state = self.cell(self.embed(token), state)
        return self.head(state).argmax(-1), state


def decode(model: Decoder, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens of each sequence, END behind its end, and how many rounds that took."""
    batch = len(state)

    def unfinished(
        at: torch.Tensor, token: torch.Tensor, state: torch.Tensor, out: torch.Tensor
    ) -> torch.Tensor:
        return (at < LONGEST) & (token != END).any()

    def extend(
        at: torch.Tensor, token: torch.Tensor, state: torch.Tensor, out: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        following, state = model(token, state)
        following = torch.where(token == END, END, following)
        out = out.index_copy(0, at.reshape(1), following.unsqueeze(0))
        return at + 1, following, state, out

    start = (
        torch.zeros((), dtype=torch.int64),
        torch.ones(batch, dtype=torch.int64),
        state,
        torch.zeros(LONGEST, batch, dtype=torch.int64),
    )
    rounds, _, _, out = torch.while_loop(unfinished, extend, start)
    return out.t(), rounds


def main() -> None:
    torch.manual_seed(3)
    model = Decoder().eval()
    with torch.no_grad():
        model.head.bias[END] += 0.2
    state = torch.randn(4, 32)
    graph = ost.accelerator.Graph()
    with torch.no_grad(), graph:
        tokens, rounds = decode(model, state)
    for _ in range(3):
        state.normal_()
        graph.replay()
        print(f"{rounds.item()} rounds")
        for row in tokens.tolist():
            print("  ", *row[: row.index(END)] if END in row else row)


if __name__ == "__main__":
    main()
