"""Architectures that people have, small: a Transformer, ResNet-18 and a vision transformer, each also written out.

`outside_networks` has networks with single unusual layers.
"""

import torch
from torch import nn

from tests.helpers.outside_networks import Written


class Transformer(Written):
    """nn.TransformerEncoder over tokens, with both orders of its normalisation."""

    def __init__(self, first=False):
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True, norm_first=first, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out, self.first = nn.Linear(4, 3), first

    def forward(self, x):
        return self.out(self.encoder(x).mean(1))

    def by_hand(self, x):
        places = {}
        for number, own in enumerate(self.encoder.layers):

            def attended(x, own=own):
                return own.self_attn(x, x, x, need_weights=False)[0]

            def between(x, own=own, number=number):
                z = own.linear1(x).transpose(1, 2)
                h = z * 0.5 * (1 + torch.erf(z / 2**0.5))
                places[f"encoder.layers.{number}.gelu"] = "", z, h
                return own.linear2(h.transpose(1, 2))

            if self.first:
                x = x + attended(own.norm1(x))
                x = x + between(own.norm2(x))
            else:
                x = own.norm1(x + attended(x))
                x = own.norm2(x + between(x))
        features = x.mean(1)
        return self.out(features), places, [features]


class Block(nn.Module):
    """torchvision's BasicBlock: one ReLU in place at two places, and a residual sum in place."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet18(Written):
    """torchvision's ResNet-18, narrower."""

    def __init__(self, width=2, classes=3):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        for at in range(1, 5):
            blocks = Block(widths[at - 1], widths[at], 1 if at == 1 else 2), Block(widths[at], widths[at], 1)
            setattr(self, f"layer{at}", nn.Sequential(*blocks))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(widths[-1], classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))

    def by_hand(self, x):
        places = {}

        def activated(name, z):
            places[name] = "relu", z, z.clamp(min=0)
            return places[name][2]

        x = self.maxpool(activated("relu", self.bn1(self.conv1(x))))
        for at in range(1, 5):
            for number, own in enumerate(getattr(self, f"layer{at}")):
                h = activated(f"layer{at}.{number}.relu", own.bn1(own.conv1(x)))
                identity = x if own.downsample is None else own.downsample(x)
                x = activated(f"layer{at}.{number}.relu_2", own.bn2(own.conv2(h)) + identity)
        features = x.mean((2, 3))
        return self.fc(features), places, [features]


class EncoderBlock(nn.Module):
    """torchvision's block of a vision transformer."""

    def __init__(self, width):
        super().__init__()
        self.ln_1, self.self_attention = nn.LayerNorm(width), nn.MultiheadAttention(width, 2, batch_first=True)
        self.dropout, self.ln_2 = nn.Dropout(0.1), nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x):
        h = self.ln_1(x)
        h, _ = self.self_attention(h, h, h, need_weights=False)
        x = self.dropout(h) + x
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(Written):
    """torchvision's vision transformer, with a class token, smaller."""

    def __init__(self, width=4, patch=2, side=6):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embedding = nn.Parameter(torch.empty(1, (side // patch) ** 2 + 1, width).normal_(std=0.02))
        self.layers, self.ln = nn.Sequential(EncoderBlock(width), EncoderBlock(width)), nn.LayerNorm(width)
        self.head = nn.Linear(width, 3)

    def tokens(self, x):
        x = self.conv_proj(x)
        x = x.reshape(x.shape[0], x.shape[1], -1).permute(0, 2, 1)
        return torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1) + self.pos_embedding

    def forward(self, x):
        return self.head(self.ln(self.layers(self.tokens(x)))[:, 0])

    def by_hand(self, x):
        places, x = {}, self.tokens(x)
        for number, own in enumerate(self.layers):
            h = own.ln_1(x)
            x = x + own.self_attention(h, h, h, need_weights=False)[0]
            z = own.mlp[0](own.ln_2(x)).transpose(1, 2)
            h = z * 0.5 * (1 + torch.erf(z / 2**0.5))
            places[f"layers.{number}.mlp.1"] = "", z, h
            x = x + own.mlp[3](h.transpose(1, 2))
        features = self.ln(x)[:, 0]
        return self.head(features), places, [features]
