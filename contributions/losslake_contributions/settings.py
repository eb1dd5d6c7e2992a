"""The settings of the contribution service, beside those that every server of LossLake has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import SettingsConfigDict

from losslake_contributions.protocol.notifications import email_address
from losslake_service.settings import CONTRIBUTIONS_PREFIX, Networks, ServerSettings


def _address(text: str) -> str:
    return email_address(text) if text else text


# Any value is a text, so that no message about settings shows one that isn't.
Secret = Annotated[str, BeforeValidator(str), Field(repr=False)]


class Settings(ServerSettings):
    """Every setting of the contribution service, with its default."""

    model_config = SettingsConfigDict(env_prefix=CONTRIBUTIONS_PREFIX)

    lake: str = ""
    """The lake that takes the runs: a folder, a lake.toml, or two URLs; empty: $LOSSLAKE_LAKE, else ./lake."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8010
    """Port to listen on; 0 for any free port."""

    signing_key_file: str = ""
    """File with the key that signs links, for a lake at two URLs; empty: signing-key in the folder of the lake."""

    runs_per_hour: Annotated[int, Field(ge=0, le=1_000_000)] = 1_000
    """Runs that may be created with a token in an hour, for each worker process; 0: unlimited."""
    segments_per_hour: Annotated[int, Field(ge=0, le=100_000_000)] = 20_000
    """Segments that may be sent with a token in an hour, for each worker process; 0: unlimited."""
    megabytes_per_hour: Annotated[int, Field(ge=0, le=1_000_000)] = 2_000
    """Megabytes of JSON lines that may be sent with a token in an hour, for each worker process; 0: unlimited."""
    submissions_per_hour: Annotated[int, Field(ge=0, le=1_000_000)] = 200
    """Requests to submit runs with a token in an hour, for each worker process; 0: unlimited."""
    review_seconds_per_hour: Annotated[float, Field(ge=0, le=86_400)] = 1200.0
    """Seconds that reviews of a contributor's submissions take in an hour before others have to wait; 0: any."""
    uploads: Annotated[int, Field(ge=1, le=1_000)] = 16
    """Segments that each worker process receives at once; more are refused with 429. Each takes up to 35 MB."""
    uploads_per_token: Annotated[int, Field(ge=1, le=1_000)] = 8
    """Segments that may be sent at once with a token; more are refused with 429."""
    segment_seconds: Annotated[float, Field(ge=1, le=3600)] = 60.0
    """Maximum seconds to receive a segment."""
    cleanup_hours: Annotated[float, Field(ge=0.01, le=1000)] = 6.0
    """Hours between clean-ups of files that failed requests left in the store, and of runs that were never finished."""
    unfinished_days: Annotated[float, Field(ge=0, le=36_500)] = 30.0
    """Days after which a run without an end is deleted, counted from its last segment; 0: never."""
    live_seconds: Annotated[float, Field(ge=0.1, le=60)] = 1.0
    """Seconds between two requests of a sender of live runs, at least; more while there are many senders."""
    silent_minutes: Annotated[float, Field(ge=0, le=100_000)] = 10.0
    """Minutes without a sign of life after which a live run is finished as INCOMPLETE; 0: never."""

    orcid_client_id: str = ""
    """Client id of this service at ORCID, for people to sign in with their ORCID iD; empty: they can't."""
    orcid_client_secret: Secret = ""
    """Secret of this client at ORCID; rather give it in a file."""
    orcid_client_secret_file: str = ""
    """File with this secret."""
    github_client_id: str = ""
    """Client id of this service at GitHub, for people to sign in with their GitHub account; empty: they can't."""
    github_client_secret: Secret = ""
    """Secret of this client at GitHub; rather give it in a file."""
    github_client_secret_file: str = ""
    """File with this secret."""
    oidc_issuer: str = ""
    """Issuer of another provider that speaks OpenID Connect, such as https://login.example; empty: none."""
    oidc_title: Annotated[str, Field(min_length=1, max_length=60)] = "OpenID Connect"
    """Name of this provider on pages."""
    oidc_client_id: str = ""
    """Client id of this service at this provider."""
    oidc_client_secret: Secret = ""
    """Secret of this client at this provider; rather give it in a file."""
    oidc_client_secret_file: str = ""
    """File with this secret."""
    sign_in_runs: Annotated[int, Field(ge=0, le=10_000_000)] = 200
    """Runs that may be sent with a token that a person who has signed in made."""
    sign_in_segments: Annotated[int, Field(ge=0, le=10_000_000)] = 4_000
    """Segments that may be sent with such a token."""
    sign_in_megabytes: Annotated[int, Field(ge=0, le=10_000_000)] = 500
    """Megabytes of JSON lines that may be sent with such a token."""
    sign_in_document_megabytes: Annotated[int, Field(ge=0, le=1_000_000)] = 5
    """Megabytes of run.json, ends of runs and submission requests that may be sent with such a token."""
    sign_in_days: Annotated[int, Field(ge=1, le=3650)] = 90
    """Days for which such a token is valid."""
    sign_in_tokens: Annotated[int, Field(ge=1, le=1_000)] = 3
    """Valid tokens of this kind that a person may have at the same time."""
    sign_in_tokens_per_day: Annotated[int, Field(ge=1, le=1_000)] = 3
    """Tokens of this kind that a person may make within a day, revoked ones included."""
    sign_in_accounts_per_day: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """People who may sign in for the first time within a day."""

    smtp_host: str = ""
    """SMTP server that sends e-mails to contributors who want them; empty: none are sent."""
    smtp_port: Annotated[int, Field(ge=1, le=65_535)] = 587
    """Port of the SMTP server."""
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    """Encryption of the connection to the SMTP server: starttls, tls from its first byte, or none on loopback."""
    smtp_user: str = ""
    """User at the SMTP server; empty: none."""
    smtp_password_file: str = ""
    """File with the password of smtp_user, that only the account of the service reads."""
    email_from: Annotated[str, AfterValidator(_address)] = ""
    """Sender of e-mails, such as losslake@example.org."""
    notifications_per_hour: Annotated[int, Field(ge=0, le=100_000)] = 60
    """Notifications that a webhook or an e-mail address gets in an hour; further ones are left out; 0: unlimited."""
    webhook_networks: Networks = ()
    """Networks that webhooks may lead to besides the internet, also by http and any port, such as 10.1.0.0/16."""
