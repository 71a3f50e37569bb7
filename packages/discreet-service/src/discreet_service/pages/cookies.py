"""The browser's cookies."""

from fastapi import Response

from discreet_service.settings import Settings


def session_cookie(settings: Settings) -> str:
    """Return the session cookie's name; over HTTPS browsers keep it for this host and path alone."""
    return _name(settings, "discreet")


def form_cookie(settings: Settings) -> str:
    """Return the name of the cookie that stands for a session before anybody has signed in."""
    return _name(settings, "discreet-form")


def sign_on_cookie(settings: Settings) -> str:
    """Return the name of the cookie of somebody who was sent to sign in elsewhere."""
    return _name(settings, "discreet-sign-on")


def _name(settings: Settings, name: str) -> str:
    return f"__Host-{name}" if settings.secure_cookies else name


def set_cookie(response: Response, settings: Settings, name: str, token: str, max_age_s: float) -> None:
    """Have the browser keep a token, out of reach of scripts and of other sites.

    SameSite is Strict, but Lax where single sign-on sends people here from its provider's site.
    """
    response.set_cookie(
        name,
        token,
        max_age=int(max_age_s),
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="strict" if settings.sign_on is None else "lax",
    )


def set_session(response: Response, settings: Settings, token: str) -> None:
    """Have the browser keep a session that was just opened; what stood for it before goes."""
    set_cookie(response, settings, session_cookie(settings), token, settings.session_h * 3600)
    delete_cookie(response, settings, form_cookie(settings))


def delete_cookie(response: Response, settings: Settings, name: str) -> None:
    """Have the browser forget a cookie."""
    response.delete_cookie(name, path="/", secure=settings.secure_cookies, httponly=True, samesite="strict")
