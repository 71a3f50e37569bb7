"""Single sign-on: to the organization's provider, and back."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from discreet_service.access import sign_on
from discreet_service.access.guard import address_of, context_of, unguarded
from discreet_service.call_limits import providers
from discreet_service.pages import cookies
from discreet_service.pages.sign_in import end_earlier, go_back, local

router = APIRouter()


@router.get("/sign-on")
@unguarded
@providers
def go_to_provider(request: Request, next: str = "/") -> Response:
    """Send the browser to where its organization signs people in."""
    request.app.state.limits.check(f"address {address_of(request)}")
    context = context_of(request)
    address, cookie = sign_on.begin(context, local(next))
    response = RedirectResponse(address, 303)
    cookies.set_cookie(response, context.settings, cookies.sign_on_cookie(context.settings), cookie, sign_on.TIMEOUT_S)
    return response


@router.get(sign_on.RETURN_PATH)
@unguarded
@providers
def return_from_provider(request: Request) -> Response:
    """Check what the organization says, and open a session with a new token."""
    request.app.state.limits.check(f"address {address_of(request)}")
    context = context_of(request)
    name = cookies.sign_on_cookie(context.settings)
    token, place = sign_on.finish(context, request.cookies.get(name, ""), request.query_params)
    response = go_back(place)
    cookies.set_session(response, context.settings, token)
    cookies.delete_cookie(response, context.settings, name)
    end_earlier(request)
    return response
