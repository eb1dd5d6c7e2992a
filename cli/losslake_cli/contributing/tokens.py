"""`losslake tokens`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from losslake_cli.console import LakeOption, echo
from losslake_cli.contributing.review_queue import open_database
from losslake_cli.table import show_table

_MEGABYTE = 1_000_000

tokens = typer.Typer(help="Make, list and revoke tokens of contributors.", no_args_is_help=True)


@tokens.command("create")
def create(
    name: Annotated[str, typer.Option(help="The contributor's name, as it is to be cited.")],
    orcid: Annotated[str | None, typer.Option(help="The contributor's ORCID iD.")] = None,
    scopes: Annotated[
        list[str] | None, typer.Option("--scope", help="contribute (the default) or review; may be repeated.")
    ] = None,
    days: Annotated[int, typer.Option(help="For how many days it is valid.")] = 365,
    runs: Annotated[int | None, typer.Option(min=0, help="Runs that may be sent with it. Default: 10,000.")] = None,
    segments: Annotated[
        int | None, typer.Option(min=0, help="Segments that may be sent with it. Default: 100,000.")
    ] = None,
    megabytes: Annotated[
        int | None, typer.Option(min=0, help="Megabytes of JSON lines that may be sent with it. Default: 20,000.")
    ] = None,
    document_megabytes: Annotated[
        int | None,
        typer.Option(min=0, help="Megabytes of run.json, ends and notes that may be sent with it. Default: 50."),
    ] = None,
    contributor: Annotated[
        str | None, typer.Option(help="The id of a contributor without ORCID iD who gets another token.")
    ] = None,
    lake: LakeOption = None,
) -> None:
    """Print a new token. It is shown only once: the lake keeps nothing from which it could be made again."""
    from losslake.lake.lake import Lake
    from losslake_contributions.people.tokens import Quota, create_token
    from losslake_contributions.store.database import Database

    quota = replace(Quota(), **_stated(runs, segments, megabytes, document_megabytes))
    database = Database.create(Lake.create(lake))
    echo(create_token(database, name, orcid, scopes or ["contribute"], days, quota, contributor))


def _stated(
    runs: int | None, segments: int | None, megabytes: int | None, document_megabytes: int | None
) -> dict[str, int]:
    """Return the amounts of a quota that are given, by their names in `Quota`."""
    amounts = {
        "runs": (runs, 1), "segments": (segments, 1), "bytes": (megabytes, _MEGABYTE),
        "document_bytes": (document_megabytes, _MEGABYTE),
    }  # fmt: skip
    return {name: amount * unit for name, (amount, unit) in amounts.items() if amount is not None}


@tokens.command("list")
def list_all(lake: LakeOption = None) -> None:
    """List tokens, newest first, with what was sent with each."""
    from losslake_contributions.people.tokens import list_tokens

    rows = [
        (
            each.id, each.state, each.scopes, each.owner.name, each.owner.orcid or "", each.contributor,
            f"{each.expires_at:%Y-%m-%d}", f"{each.runs:,} of {each.most_runs:,}",
            f"{each.segments:,} of {each.most_segments:,}",
            f"{each.bytes / _MEGABYTE:,.1f} of {each.most_bytes / _MEGABYTE:,.0f}",
            f"{each.document_bytes / _MEGABYTE:,.1f} of {each.most_document_bytes / _MEGABYTE:,.0f}",
        )
        for each in list_tokens(open_database(lake))
    ]  # fmt: skip
    columns = (
        "token", "state", "scopes", "name", "orcid", "contributor", "expires", "runs", "segments", "megabytes",
        "document megabytes",
    )  # fmt: skip
    show_table(columns, rows)


@tokens.command("quota")
def quota(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as 'list' shows it.")],
    runs: Annotated[int | None, typer.Option(min=0, help="Runs that may be sent with it.")] = None,
    segments: Annotated[int | None, typer.Option(min=0, help="Segments that may be sent with it.")] = None,
    megabytes: Annotated[
        int | None, typer.Option(min=0, help="Megabytes of JSON lines that may be sent with it.")
    ] = None,
    document_megabytes: Annotated[
        int | None, typer.Option(min=0, help="Megabytes of run.json, ends and notes that may be sent with it.")
    ] = None,
    lake: LakeOption = None,
) -> None:
    """Change the quota of a token, and print all of it. What isn't given stays."""
    from losslake_contributions.people.tokens import change_quota

    new = change_quota(open_database(lake), token, _stated(runs, segments, megabytes, document_megabytes))
    echo(
        f"{new.runs:,} runs, {new.segments:,} segments, {new.bytes / _MEGABYTE:,.0f} megabytes, "
        f"{new.document_bytes / _MEGABYTE:,.0f} megabytes of documents"
    )


@tokens.command("revoke")
def revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as 'list' shows it.")], lake: LakeOption = None
) -> None:
    """Refuse a token from now on, and end its sessions and links. What was sent with it stays."""
    from losslake_contributions.people.tokens import revoke_token

    revoke_token(open_database(lake), token)
    echo("revoked")


@tokens.command("links")
def list_links(lake: LakeOption = None) -> None:
    """List the valid links to drafts and live runs.

    Whoever has one sees what it leads to.
    """
    from losslake_contributions.people.links import list_links as find_all

    rows = [
        (each.id, each.kind, each.subject, each.token, f"{each.created_at:%Y-%m-%d}", f"{each.expires_at:%Y-%m-%d}")
        for each in find_all(open_database(lake), limit=None)
    ]
    show_table(("link", "kind", "of", "token", "created", "expires"), rows)


@tokens.command("revoke-link")
def revoke_link(
    link: Annotated[str, typer.Argument(metavar="LINK", help="Its id, as 'links' shows it.")], lake: LakeOption = None
) -> None:
    """End a link to a draft or a live run. Open pages close within seconds."""
    from losslake_contributions.people.links import revoke_link as revoke_one

    revoke_one(open_database(lake), link)
    echo("revoked")


@tokens.command("rotate-key")
def rotate_key(
    signing_key_file: Annotated[
        str,
        typer.Option(
            envvar="LOSSLAKE_CONTRIBUTIONS_SIGNING_KEY_FILE",
            metavar="FILE",
            help="The service's setting signing_key_file, if it has one.",
        ),
    ] = "",
    lake: LakeOption = None,
) -> None:
    """Make a new key for links, and end every link. Tokens and browsers that have signed in stay valid."""
    from losslake_contributions.people.links import rotate_key as replace_key
    from losslake_contributions.people.signing_key import SigningKey

    database = open_database(lake)
    replace_key(database, SigningKey.at(database.lake, signing_key_file))
    echo("every link has ended; services use the new key at once")
