"""Pictures of MuJoCo's bodies, drawn by EGL without a screen.

Legend: H × W pixels.
"""

import copy

import mujoco
import numpy as np
from numpy.typing import NDArray

from plasticity_lab.errors import ConfigError

HEIGHT, WIDTH = 160, 240
CAMERA = "track"
"""The camera that all of Gymnasium's models have; it follows the body."""


class Drawer:
    """Draws copies of a model.  Raises ConfigError if EGL cannot be used here."""

    def __init__(self, model: mujoco.MjModel) -> None:
        model = copy.copy(model)
        model.vis.quality.offsamples = 0  # with smooth edges, shadows and reflections a CPU draws 50 times slower
        try:
            from mujoco.egl import GLContext

            self._context = GLContext(WIDTH, HEIGHT)  # kept: the pictures are made in it
            self._context.make_current()
            self._target = mujoco.MjrContext(model, int(mujoco.mjtFontScale.mjFONTSCALE_100))
        except Exception as error:  # a library that is missing, or has no device, raises nearly anything
            raise ConfigError(f"MuJoCo's bodies are drawn by EGL, which cannot be used here ({error}).") from error
        mujoco.mjr_setBuffer(int(mujoco.mjtFramebuffer.mjFB_OFFSCREEN), self._target)
        self._model, self._scene = model, mujoco.MjvScene(model, maxgeom=1000)
        self._scene.flags[[int(mujoco.mjtRndFlag.mjRND_SHADOW), int(mujoco.mjtRndFlag.mjRND_REFLECTION)]] = 0
        self._camera, self._whole = mujoco.MjvCamera(), mujoco.MjrRect(0, 0, WIDTH, HEIGHT)
        self._camera.type = int(mujoco.mjtCamera.mjCAMERA_FIXED)
        self._camera.fixedcamid = mujoco.mj_name2id(model, int(mujoco.mjtObj.mjOBJ_CAMERA), CAMERA)

    def picture(self, data: mujoco.MjData) -> NDArray[np.uint8]:
        """The present state of a copy as RGB, (3, H, W)."""
        every, option = int(mujoco.mjtCatBit.mjCAT_ALL), mujoco.MjvOption()
        mujoco.mjv_updateScene(self._model, data, option, None, self._camera, every, self._scene)
        mujoco.mjr_render(self._whole, self._scene, self._target)
        pixels = np.empty((HEIGHT, WIDTH, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, self._whole, self._target)
        return np.moveaxis(pixels[::-1], 2, 0)  # OpenGL's first line is the lowest
