"""Networks with an unusual layer each, small: the forward pass, and the same written out with its places of units."""

import torch
from torch import nn
from torch.nn import functional as f
from torch.nn.utils import parametrizations


class Written(nn.Module):
    """by_hand(x): outputs, places (name → kind, z, h with units second), features."""

    def products(self):
        """The parameters of linear layers and convolutions."""
        kinds = (nn.Linear, nn.modules.conv._ConvNd, nn.MultiheadAttention)
        owners = {id(p) for own in self.modules() if isinstance(own, kinds) for p in own.parameters()}
        return [name for name, value in self.named_parameters() if id(value) in owners]


class Tied(Written):
    """The last layer's weight is the first one's, transposed; and two modules share one weight."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.fc3.weight = self.fc2.weight

    def forward(self, x):
        h = torch.tanh(self.fc3(f.relu(self.fc2(f.relu(self.fc1(x), inplace=True)))))
        return f.linear(h, self.fc1.weight.t())[:, :3]

    def by_hand(self, x):
        w1, w2 = self.fc1.weight, self.fc2.weight
        z1 = x @ w1.t() + self.fc1.bias
        h1 = z1.clamp(min=0)
        z2 = h1 @ w2.t() + self.fc2.bias
        h2 = z2.clamp(min=0)
        z3 = h2 @ w2.t() + self.fc3.bias
        h3 = z3.tanh()
        places = {"relu": ("relu", z1, h1), "relu_2": ("relu", z2, h2), "tanh": ("tanh", z3, h3)}
        return (h3 @ w1)[:, :3], places, [h3]


class WeightNormed(Written):
    """Weights that are computed at each call."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = (parametrizations.weight_norm(nn.Linear(6, 6)) for _ in range(2))
        self.act, self.fc3 = nn.SiLU(inplace=True), parametrizations.weight_norm(nn.Linear(6, 3))

    def forward(self, x):
        return self.fc3(self.act(self.fc2(self.act(self.fc1(x)))))

    def by_hand(self, x):
        def weight(own):
            size, direction = own.parametrizations.weight.original0, own.parametrizations.weight.original1
            return size * direction / direction.square().sum(1, keepdim=True).sqrt()

        z1 = x @ weight(self.fc1).t() + self.fc1.bias
        h1 = z1 * z1.sigmoid()
        z2 = h1 @ weight(self.fc2).t() + self.fc2.bias
        h2 = z2 * z2.sigmoid()
        return h2 @ weight(self.fc3).t() + self.fc3.bias, {"act": ("", z1, h1), "act_2": ("", z2, h2)}, [h2]


class Convolutions(Written):
    """Grouped, depthwise, dilated and strided convolutions, with a batch normalisation and a residual sum."""

    def __init__(self):
        super().__init__()
        self.stem, self.wise = nn.Conv2d(2, 4, 3, padding="same"), nn.Conv2d(4, 4, 3, groups=4, dilation=2, padding=2)
        self.norm, self.grouped = nn.BatchNorm2d(4), nn.Conv2d(4, 6, (3, 2), stride=(2, 1), groups=2, padding=(1, 0))
        self.out = nn.Linear(6, 3)
        self.norm.running_mean.normal_(0, 0.1)

    def forward(self, x):
        h = f.hardswish(self.stem(x), inplace=True)
        z = self.norm(self.wise(h))
        z += h
        h = f.leaky_relu(z, 0.2, inplace=True)
        h = f.elu_(self.grouped(h))
        return self.out(f.adaptive_avg_pool2d(h, 1).flatten(1))

    def by_hand(self, x):
        z1 = self.stem(x)
        h1 = z1 * (z1 + 3).clamp(0, 6) / 6
        z2 = self.norm(self.wise(h1)) + h1
        h2 = torch.where(z2 > 0, z2, 0.2 * z2)
        z3 = self.grouped(h2)
        h3 = torch.where(z3 > 0, z3, z3.exp() - 1)
        features = h3.mean((2, 3))
        places = {"hardswish": ("", z1, h1), "leaky_relu": ("", z2, h2), "elu": ("elu", z3, h3)}
        return self.out(features), places, [features]


class Gates(Written):
    """F.glu, and a gate that is written as a product of two layers."""

    def __init__(self):
        super().__init__()
        self.fc1, self.gate, self.up, self.out = nn.Linear(6, 12), nn.Linear(6, 5), nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x):
        h = f.glu(self.fc1(x), dim=-1)
        return self.out(f.silu(self.gate(h)) * self.up(h))

    def by_hand(self, x):
        z1 = self.fc1(x)
        h1 = z1[:, :6] * z1[:, 6:].sigmoid()
        z2 = self.gate(h1)
        h2 = z2 * z2.sigmoid()
        features = h2 * self.up(h1)
        return self.out(features), {"glu": ("", z1, h1), "silu": ("", z2, h2)}, [features]


class Policy(Written):
    """A recurrent PPO policy: steps of a sequence as rows, an LSTM, an actor and a critic."""

    def __init__(self):
        super().__init__()
        self.encoder, self.lstm = nn.Linear(6, 5), nn.LSTM(5, 4, batch_first=True)
        self.actor, self.critic = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3)), nn.Linear(4, 1)

    def forward(self, x, scale):
        steps = torch.tanh(self.encoder(x.reshape(-1, x.shape[-1]))).reshape(*x.shape[:2], -1)
        h = self.lstm(steps)[0][torch.arange(len(x)), torch.full((len(x),), -1)] * scale
        return self.actor(h), self.critic(h).squeeze(-1)

    def by_hand(self, inputs):
        x, scale = inputs
        z1 = self.encoder(x).transpose(1, 2)
        h1 = z1.tanh()
        h = self.lstm(h1.transpose(1, 2))[0][:, -1] * scale
        z2 = self.actor[0](h)
        h2 = z2.tanh()
        outputs = self.actor[2](h2), self.critic(h).squeeze(-1)
        return outputs, {"tanh": ("tanh", z1, h1), "actor.1": ("tanh", z2, h2)}, [h2, h]


class Branching(Written):
    """A forward pass that branches on its inputs, loops over one layer, and changes its own attributes."""

    def __init__(self):
        super().__init__()
        self.fc1, self.again, self.out, self.seen = nn.Linear(6, 7), nn.Linear(7, 7), nn.Linear(7, 3), []
        self.act, self.unused = nn.LeakyReLU(0.3, inplace=True), nn.Linear(7, 7)

    def forward(self, x):
        self.seen.append(len(x))
        h = self.act(self.fc1(x)) if bool(x[:, 0].abs().max() < 1e6) else self.unused(x)
        for _ in range(2):
            h = self.act(self.again(h)) + h
        return self.out(h)

    def by_hand(self, x):
        places, h = {}, x
        for name, own in (("act", self.fc1), ("act_2", self.again), ("act_3", self.again)):
            z = own(h)
            made = torch.where(z > 0, z, 0.3 * z)
            h = made if name == "act" else made + h
            places[name] = "", z, made
        return self.out(h), places, [h]


class Mapped(Written):
    """Inputs by name, ids with an embedding, a mask, a mapping of outputs; all activations are functions of tokens."""

    def __init__(self):
        super().__init__()
        self.embedding, self.fc1, self.fc2 = nn.Embedding(9, 4), nn.Linear(4, 6), nn.Linear(6, 3)
        self.norm = nn.LayerNorm(4)

    def forward(self, ids, mask=None, scale=None):
        h = self.norm(self.embedding(ids)) * scale[:, None, None]
        h = self.fc1(h).sigmoid_() * mask.unsqueeze(-1)
        return {"logits": self.fc2(h.sum(1) / mask.sum(1, keepdim=True))}

    def by_hand(self, inputs):
        h = self.norm(self.embedding(inputs["ids"])) * inputs["scale"][:, None, None]
        z = self.fc1(h).transpose(1, 2)
        made = z.sigmoid()
        features = (made.transpose(1, 2) * inputs["mask"].unsqueeze(-1)).sum(1) / inputs["mask"].sum(1, keepdim=True)
        return {"logits": self.fc2(features)}, {"sigmoid": ("sigmoid", z, made)}, [features]


class Own(Written):
    """Weights without modules, the last state of a GRU, and a name that a number would make again."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(6, 5)), nn.Parameter(torch.randn(5))
        self.gru, self.mixed = nn.GRU(5, 4, batch_first=True), nn.Parameter(torch.randn(4, 3))
        self.relu, self.relu_2 = nn.ReLU(), nn.ReLU6(inplace=True)

    def products(self):
        return ["weight", "bias", "mixed"]

    def forward(self, x):
        h = self.relu(x @ self.weight + self.bias)
        steps, state = self.gru(h)
        h = self.relu_2(self.relu(torch.einsum("bh,ho->bo", state[-1] + f.silu(steps).mean(1), self.mixed)))
        return h @ self.mixed.t() @ self.mixed

    def by_hand(self, x):
        z1 = (x @ self.weight + self.bias).transpose(1, 2)
        h1 = z1.clamp(min=0)
        steps, state = self.gru(h1.transpose(1, 2))
        z = steps.transpose(1, 2)
        h = z * z.sigmoid()
        z2 = (state[-1] + h.mean(2)) @ self.mixed
        h2 = z2.clamp(min=0)
        h3 = f.relu6(h2)
        features = h3 @ self.mixed.t()
        places = {"relu": ("relu", z1, h1), "silu": ("", z, h), "relu_3": ("relu", z2, h2), "relu_2": ("", h2, h3)}
        return features @ self.mixed, places, [features]
