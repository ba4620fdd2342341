"""Makes every call that the public Python client has, and prints the answers as one JSON object."""

import asyncio
import dataclasses
import json
import sys
from datetime import datetime

import aiohttp
from yunoheat import YunoHeatClient, auth, connection
from yunoheat.auth import InMemoryTokenStore
from yunoheat.exceptions import ConfigEntryAuthFailed

given = json.loads(sys.argv[1])
# It has the addresses of its provider built in.
auth.KEYCLOAK_AUTH_URL = given["issuer"] + "/protocol/openid-connect/auth"
auth.KEYCLOAK_TOKEN_URL = given["issuer"] + "/protocol/openid-connect/token"
auth.KEYCLOAK_CLIENT_ID = given["client_id"]
auth.KEYCLOAK_SCOPES = "openid service-energy"
auth.KEYCLOAK_REDIRECT_URI = given["redirect_uri"]
connection.API_BASE_URL = given["api_url"]


def plain(answer):
    return answer.model_dump(mode="json")


async def main():
    # Keycloak's cookies are for https, or for this machine.
    cookies = aiohttp.CookieJar(unsafe=True, treat_as_secure_origin=[given["origin"]])
    async with aiohttp.ClientSession(cookie_jar=cookies) as session:
        store = InMemoryTokenStore()
        who = (given["username"], given["password"])
        client = await YunoHeatClient.login(*who, session=session, token_store=store)
        told = {}

        async def ask(name, **parameters):
            answer = await getattr(client, "get_" + name)(**parameters)
            told[name] = plain(answer)
            return answer

        await ask("context")
        await ask("person_customer")
        await ask("open_bill_due")
        await ask("credit_balances")
        bills = await ask("invoices")
        await ask("bill", bill_id=bills.objects[1].id)
        year = {"date_from": datetime.fromisoformat(given["from"]), "date_to": datetime.fromisoformat(given["to"])}
        await ask("usage_events", **year, page=2, count=5, order="asc")
        told["reports"] = {
            interval: plain(await client.get_usage_report(**year, interval=interval))["readings"]
            for interval in ("day", "week", "month", "quarter", "year")
        }

        first = await store.load()
        await store.save(dataclasses.replace(first, access_expires_at=0))
        client = await YunoHeatClient.from_saved_tokens(*who, session=session, token_store=store)
        await ask("open_bill_due")
        second = await store.load()
        await store.save(dataclasses.replace(second, access_expires_at=0, refresh_expires_at=0))
        client = await YunoHeatClient.from_saved_tokens(*who, session=session, token_store=store)
        await ask("open_bill_due")
        third = await store.load()
        told["sessions"] = len({one.refresh_token for one in (first, second, third)})
        try:
            await YunoHeatClient.login(given["username"], "wrong", session=session, token_store=store)
        except ConfigEntryAuthFailed as refusal:
            told["refused"] = str(refusal)
    print(json.dumps(told))


asyncio.run(main())
