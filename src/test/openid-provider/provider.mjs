// An OpenID provider for tests: a real one with its own keys, which a test can stop, slow down, or give other keys. /test/mint signs
// tokens that a sound provider never issues: for other audiences, by other issuers, without an end.
import http from 'node:http';
import Provider from 'oidc-provider';
import {CompactSign, SignJWT, base64url, exportJWK, exportSPKI, generateKeyPair} from 'jose';

const AUDIENCE = 'urn:annals:test';
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'];
const PEOPLE = {jane: ['auditors', 'shop-readers'], john: ['shop-readers'], nobody: []};

let state = 'up';
let keyFetches = 0;
let generation = 0;
let keys;
let answer;

const server = http.createServer((request, response) => handle(request, response).catch((error) => {
  response.writeHead(500).end(String(error));
}));

async function handle(request, response) {
  const url = new URL(request.url, issuer);
  if (url.pathname.startsWith('/test/')) {
    const body = await new Response(request).json().catch(() => ({}));
    response.writeHead(200, {'Content-Type': 'application/json'}).end(JSON.stringify(await control(url.pathname, body)));
    return;
  }
  if (url.pathname === '/jwks') {
    keyFetches++;
  }
  if (state === 'failing') {
    response.writeHead(500).end();
  } else if (state === 'endless') {
    response.writeHead(200, {'Content-Type': 'application/json'});
    const more = () => response.destroyed || response.write('"'.padEnd(65536, 'x'), more);
    more();
  } else if (state === 'redirecting') {
    response.writeHead(302, {Location: `${issuer}/elsewhere`}).end();
  } else if (state !== 'silent') {
    answer(request, response);
  }
}

async function control(path, body) {
  switch (path) {
    case '/test/state':
      state = body.state;
      return {};
    case '/test/rotate':
      await newKeys();
      return {};
    case '/test/fetches':
      return {count: keyFetches};
    case '/test/mint':
      return {token: await mint(body)};
  }
  throw new Error(path);
}

/** A token with these claims beside the usual ones; null takes one away, and a text that begins with raw: is written without quotes. */
async function mint({claims = {}, header = {}, algorithm = 'RS256', seconds = 300, key = 'own'}) {
  const now = Math.floor(Date.now() / 1000);
  const all = {iss: issuer, aud: AUDIENCE, sub: 'jane', iat: now, exp: now + seconds, ...claims};
  for (const name of Object.keys(all).filter((name) => all[name] === null)) {
    delete all[name];
  }
  const own = keys[algorithm] ?? keys.RS256;
  if (algorithm === 'none') {
    const part = (value) => base64url.encode(JSON.stringify(value));
    return `${part({alg: 'none', typ: 'JWT', ...header})}.${part(all)}.`;
  }
  const headers = {alg: algorithm, typ: 'at+jwt', kid: own.jwk.kid, ...header};
  if (algorithm.startsWith('HS')) {
    // A verifier that uses a public key as a shared secret accepts this signature.
    const secret = new TextEncoder().encode(await exportSPKI(keys.RS256.publicKey));
    return new SignJWT(all).setProtectedHeader(headers).sign(secret);
  }
  if (key === 'own') {
    const payload = JSON.stringify(all).replace(/"raw:([^"]*)"/g, '$1');
    return new CompactSign(new TextEncoder().encode(payload)).setProtectedHeader(headers).sign(own.privateKey);
  }
  const forged = await generateKeyPair(algorithm, {extractable: true});
  if (key === 'embedded') {
    headers.jwk = await exportJWK(forged.publicKey);
  }
  return new SignJWT(all).setProtectedHeader(headers).sign(forged.privateKey);
}

async function newKeys() {
  generation++;
  keys = {};
  for (const algorithm of ALGORITHMS) {
    const pair = await generateKeyPair(algorithm, {extractable: true});
    const jwk = {...(await exportJWK(pair.privateKey)), kid: `${algorithm}-${generation}`, use: 'sig', alg: algorithm};
    keys[algorithm] = {...pair, jwk};
  }
  const provider = new Provider(issuer, {
    jwks: {keys: Object.values(keys).map((key) => key.jwk)},
    cookies: {keys: ['a key of the tests']},
    clients: [
      {
        client_id: 'annals-viewer', redirect_uris: [process.env.REDIRECT_URI],
        ...(process.env.CLIENT_SECRET ? {client_secret: process.env.CLIENT_SECRET} : {token_endpoint_auth_method: 'none'}),
        grant_types: ['authorization_code'], response_types: ['code'],
      },
      {
        client_id: 'a-program', client_secret: 'secret-of-the-tests', redirect_uris: [], response_types: [],
        grant_types: ['client_credentials'],
      },
    ],
    claims: {openid: ['sub', 'groups']},
    findAccount: (context, id) => ({
      accountId: id,
      claims: () => ({sub: id, groups: PEOPLE[id] ?? []}),
    }),
    pkce: {required: () => true},
    ttl: {ClientCredentials: 300, AccessToken: 300, IdToken: 300, Interaction: 300, Session: 300, Grant: 300},
    features: {
      clientCredentials: {enabled: true},
      devInteractions: {enabled: true},
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: () => ({scope: '', audience: AUDIENCE, accessTokenFormat: 'jwt', accessTokenTTL: 300}),
      },
    },
  });
  answer = provider.callback();
}

await new Promise((listening) => server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', listening));
const issuer = `http://localhost:${server.address().port}`;
await newKeys();
console.log(`READY ${issuer}`);
// It ends with the process that started it.
process.stdin.on('end', () => process.exit(0)).resume();
