//! Who may publish and listen: `authMethod` with its users, its hook or its tokens.

use crate::draft::Import;
use crate::source::Directive;
use crate::units;

/// Imports all of it.
pub(super) fn auth(root: &[Directive], import: &mut Import) {
    let find = |name: &str| root.iter().find(|key| key.name == name);
    let method = find("authMethod").or_else(|| find("authMethods"));
    let url = find("authHTTPAddress").or_else(|| find("externalAuthenticationURL"));
    let jwks = find("authJWTJWKS").filter(|key| !key.value().is_empty());
    let says = method.map_or("internal", Directive::value);
    match (says, method) {
        ("internal", Some(method)) => import.ledger.carry(method, "[[auth.key]]".to_owned()),
        ("http", Some(method)) if url.is_some_and(|url| !url.value().is_empty()) => {
            import.put("auth.hook", "dialect", units::text("mediamtx"), method);
        }
        ("jwt", Some(method)) if jwks.is_some() => {
            // As there, listeners need a token unless they are excluded.
            let is_free = find("authJWTExclude").is_some_and(frees_listening);
            let play = if is_free { "open" } else { "key" };
            import.put("auth", "play", units::text(play), method);
        }
        (_, Some(method)) => import.ledger.leave(
            method,
            "names nobody who could be asked: listening is free, and publishers need a key",
        ),
        (_, None) => {}
    }
    for key in root {
        match &*key.name {
            "authInternalUsers" if says == "internal" => users(key, import),
            "authInternalUsers" => import.ledger.needless(key, "another authMethod is used"),
            "authHTTPAddress" | "externalAuthenticationURL" if key.value().is_empty() => {
                import.ledger.needless(key, "is empty");
            }
            "authHTTPAddress" if says != "http" => {
                import.ledger.needless(key, "another authMethod is used")
            }
            "authHTTPAddress" | "externalAuthenticationURL" => {
                import.put("auth.hook", "url", units::text(key.value()), key);
                if method.is_none() {
                    import.put("auth.hook", "dialect", units::text("mediamtx"), key);
                }
            }
            "authHTTPExclude" if says != "http" => {
                import.ledger.needless(key, "another authMethod is used")
            }
            "authHTTPExclude" => exclude(key, import),
            name if name.starts_with("authHTTP") => import.ledger.leave(
                key,
                "the hook is asked over HTTP or HTTPS with the system's certificates",
            ),
            "authJWTExclude" if says == "jwt" => excluded_from_tokens(key, import),
            name if name.starts_with("authJWT") => token(key, says == "jwt", import),
            _ => {}
        }
    }
}

/// What tokens are checked with.
fn token(key: &Directive, is_used: bool, import: &mut Import) {
    let put = match &*key.name {
        _ if !is_used => return import.ledger.needless(key, "another authMethod is used"),
        _ if key.value().is_empty() => return import.ledger.needless(key, "is empty"),
        "authJWTJWKS" => "jwks_url",
        "authJWTIssuer" => "issuer",
        "authJWTAudience" => "audience",
        "authJWTClaimKey" if key.value() == "mediamtx_permissions" => {
            return import
                .ledger
                .needless(key, "tokens are read under this name");
        }
        "authJWTClaimKey" => {
            let why = "permissions are in the claim mediamtx_permissions (docs/permissions.md)";
            return import.ledger.leave(key, why);
        }
        "authJWTInHTTPQuery" => {
            let why = "a token may be in the address, as a password or as Bearer";
            return import.ledger.needless(key, why);
        }
        _ => {
            let why = "keys are fetched over HTTP or HTTPS with the system's certificates";
            return import.ledger.leave(key, why);
        }
    };
    import.put("auth.jwt", put, units::text(key.value()), key);
}

/// Whether everybody may listen to everything.
fn frees_listening(exclude: &Directive) -> bool {
    exclude.children.iter().any(is_all_listening)
}

fn is_all_listening(item: &Directive) -> bool {
    item.value_of("action") == Some("read") && item.value_of("path").unwrap_or("").is_empty()
}

fn excluded_from_tokens(key: &Directive, import: &mut Import) {
    for item in &key.children {
        let action = item.value_of("action").unwrap_or("");
        let needless = match action {
            "playback" => Some("recordings are listened to as streams are"),
            "api" | "metrics" | "pprof" => Some("the operator's port has auth.admin_password"),
            _ => None,
        };
        for field in &item.children {
            match needless {
                Some(why) => import.ledger.needless(field, why),
                None if is_all_listening(item) => import.ledger.carry(field, "auth.play".to_owned()),
                None => import.ledger.leave(
                    field,
                    "publishing needs a token, and so does listening to some paths alone: for these [[stream]] has play = \"open\"",
                ),
            }
        }
    }
}

/// Actions that are free: of listening and publishing one at most can be.
fn exclude(key: &Directive, import: &mut Import) {
    for item in &key.children {
        let Some(action) = item.child("action") else {
            continue;
        };
        match action.value() {
            "read" | "playback" if item.value_of("path").unwrap_or("").is_empty() => {
                import.put("auth.hook", "asks", units::text("publish"), action);
            }
            "api" | "metrics" | "pprof" => import
                .ledger
                .needless(action, "the hook is not asked about the operator's port"),
            _ => import.ledger.leave(
                action,
                "publishing, and listening to some paths alone, cannot be excluded from the hook",
            ),
        }
    }
}

fn users(users: &Directive, import: &mut Import) {
    for user in &users.children {
        let (name, pass) = (user.child("user"), user.child("pass"));
        let word = name.map_or("", Directive::value);
        let secret = pass.map_or("", Directive::value);
        let is_hashed = secret.starts_with("sha256:") || secret.starts_with("argon2:");
        let permissions = user.child("permissions");
        for permission in permissions
            .iter()
            .flat_map(|permissions| &permissions.children)
        {
            let Some(action) = permission.child("action") else {
                continue;
            };
            let path = permission.child("path");
            match action.value() {
                "publish" if word == "any" || secret.is_empty() => import.ledger.leave(
                    permission,
                    "publishing always needs a key: auth.publish_key, which is generated at each start if it is empty",
                ),
                "publish" if is_hashed => {
                    import.ledger.leave(permission, "this kind of hash is not read: give this publisher a new key, as [[auth.key]]");
                }
                "publish" => publisher([name, pass, path], action, import),
                "read" | "playback" if word == "any" => import.ledger.needless(permission, "listening is free"),
                "read" | "playback" => import.ledger.leave(
                    permission,
                    "listening is free: give listeners an [[auth.key]] with scopes = [\"play\"], and set auth.play = \"key\"",
                ),
                "api" | "metrics" | "pprof" if secret.is_empty() || is_hashed => {
                    import.ledger.leave(permission, "the operator's port has auth.admin_password");
                }
                "api" | "metrics" | "pprof" => {
                    let id = import.section("auth");
                    import.set(id, "admin_password", units::text(secret), action);
                    import.ledger.carry(permission, "auth.admin_password".to_owned());
                }
                _ => import.ledger.leave(permission, "there is no such action"),
            }
        }
        for key in &user.children {
            match &*key.name {
                "permissions" => {}
                "ips" if key.values.is_empty() => import.ledger.needless(key, "any address may"),
                "ips" => import.ledger.leave(
                    key,
                    "addresses are those of streams, not of users: [[access]] with `allow` says who may connect to which",
                ),
                "user" | "pass" => {
                    import.ledger.needless(
                        key,
                        "is used where it permits something that has a key here",
                    );
                }
                _ => import.ledger.leave(key, "the import does not know it"),
            }
        }
    }
}

/// One who may publish has a key of their own.
fn publisher([name, pass, path]: [Option<&Directive>; 3], action: &Directive, import: &mut Import) {
    let Some(id) = import.entry("auth.key", action) else {
        return;
    };
    let value = |of: Option<&Directive>| of.map_or(String::new(), |of| of.value().to_owned());
    let pattern = super::paths::pattern(&value(path)).unwrap_or_else(|| value(path));
    import.set(
        id,
        "name",
        units::text(&value(name)),
        name.unwrap_or(action),
    );
    import.set(id, "key", units::text(&value(pass)), pass.unwrap_or(action));
    import.set(id, "match", units::text(&pattern), path.unwrap_or(action));
    import.ledger.carry(action, "[[auth.key]]".to_owned());
}
