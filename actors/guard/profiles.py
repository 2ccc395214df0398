"""Profiles: how a model is to be run, as data; two are built in, the rest and any change are in config.toml.

[llm]
profile = "e4b"          # the one meant when none is named
autostart = true         # start it with the daemon
[llm.profiles.e4b]
model = "~/models/gemma-4-E4B-it-Q4_K_M.gguf"
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from protocol import settings

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


class ProfileError(ValueError):
    """Raised when a profile is unknown or says something impossible; the message tells what and where."""


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to run one model.

    Attributes:
        gpu_layers: as --n-gpu-layers; "0" keeps it on the CPU.
        port: 0 chooses a free one at each start.
        api_key: "launch" makes a new key each time; "none" lets every local process in.
        reserve_mib: memory that is left to everything else; 0 = a twelfth of the machine, at least 1 GiB.
        stall_s: no progress for this long while a request is served means stuck.
        memory: "unified" counts RAM and GPU memory as one pool, "discrete" checks the GPU's own.
    """

    name: str = ""
    model: str = ""
    mmproj: str = ""
    ctx: Annotated[int, Meta(ge=256)] = 8192
    gpu_layers: str = "all"
    threads: Count = 0
    batch: Positive = 2048
    ubatch: Positive = 512
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"
    parallel: Positive = 1
    cache_ram_mib: Count = 256
    ctx_checkpoints: Count = 2
    swa_full: bool = False
    reasoning: Literal["", "on", "off", "auto"] = ""
    reasoning_budget: int | None = None
    chat_template_file: str = ""
    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    api_key: Literal["launch", "none"] = "launch"
    env: dict[str, str] = {}
    extra: list[str] = []
    memory: Literal["unified", "discrete"] = "unified"
    reserve_mib: Count = 0
    load_s: Seconds = 60.0
    stall_s: Seconds = 10.0
    stop_grace_s: Seconds = 10.0
    probe_idle_s: Seconds = 300.0

    @property
    def on_gpu(self) -> bool:
        """Whether layers go to a GPU."""
        return self.gpu_layers.strip() != "0"

    @property
    def path(self) -> Path:
        """The model file."""
        return Path(self.model).expanduser()


BUILT_IN: Final[Mapping[str, Profile]] = {
    # Gemma 4 E4B on an integrated GPU: small micro-batch (some AMD iGPUs hang at 512), little host cache,
    # few checkpoints (sliding windows make each one dear).
    "e4b": Profile(name="e4b", ctx=16384, ubatch=256, cache_ram_mib=256, ctx_checkpoints=2),
    # Any small GGUF, on the CPU if need be.
    "small": Profile(name="small", ctx=4096, gpu_layers="0", cache_ram_mib=0, ctx_checkpoints=0),
}


def load_profiles(config: Mapping[str, Any] | None = None) -> dict[str, Profile]:
    """Every profile: the built-in ones with the changes and additions of config.toml.

    Raises:
        ProfileError: a profile in the file is malformed; the message names it and the field.
        ValueError: the file is not TOML.
    """
    tables = _profile_tables(settings.load_config() if config is None else config)
    found = dict(BUILT_IN)
    for name, table in tables.items():
        base = msgspec.to_builtins(BUILT_IN.get(name, Profile()))
        try:
            found[name] = msgspec.convert(base | table | {"name": name}, Profile)
        except (msgspec.ValidationError, TypeError) as error:
            raise ProfileError(f"[llm.profiles.{name}] in config.toml: {error}") from error
    return found


def _profile_tables(config: Mapping[str, Any]) -> Mapping[str, Any]:
    llm = config.get("llm", {})
    tables = llm.get("profiles", {}) if isinstance(llm, Mapping) else {}
    if not isinstance(tables, Mapping):
        raise ProfileError("[llm.profiles] in config.toml is no table.")
    return tables


def choose(name: str = "", model: str = "", ctx: int | None = None) -> Profile | None:
    """The profile that is meant, with the caller's changes; None when nothing is configured.

    Raises:
        ProfileError: the name is unknown, the profile has no model, or the file is not there.
    """
    profiles = load_profiles()
    wanted = name or settings.value("CHRYSALIS_LLM_PROFILE") or ("small" if model else "")
    if not wanted:
        with_model = [profile.name for profile in profiles.values() if profile.model]
        if len(with_model) != 1:
            return None
        wanted = with_model[0]
    if wanted not in profiles:
        raise ProfileError(f"There is no profile {wanted!r}; there are {', '.join(sorted(profiles))}.")
    profile = profiles[wanted]
    changes: dict[str, Any] = {"model": model} if model else {}
    changes |= {"ctx": ctx} if ctx else {}
    return msgspec.structs.replace(profile, **changes)


def check_files(profile: Profile) -> None:
    """See that the profile's files are there.

    Raises:
        ProfileError: no model is named, or a file is missing.
    """
    if not profile.model:
        raise ProfileError(
            f"Profile {profile.name!r} names no model file; set model under [llm.profiles.{profile.name}] in "
            f"{settings.config_path()} or give --model."
        )
    for path in (profile.model, profile.mmproj, profile.chat_template_file):
        if path and not Path(path).expanduser().is_file():
            raise ProfileError(f"{path} is not there; profile {profile.name!r} names it.")
