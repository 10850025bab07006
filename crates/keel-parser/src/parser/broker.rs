//! Service Broker: message types, contracts, queues, services, routes; the statements of conversations.

use super::Parser;
use crate::ast::{
    ActivationOptions, ActivationUser, BeginDialog, BrokerClass, BrokerStatement, Conversation,
    EndConversation, EventNotification, EventScope, Ident, Patience, QueueOptions, Receive, ReceiveFilter,
    Related, RouteOptions, SendMessage, SentBy, StatementKind, Validation, Variable,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;

const CLASSES: [(&[&str], BrokerClass); 5] = [
    (&["MESSAGE", "TYPE"], BrokerClass::MessageType),
    (&["CONTRACT"], BrokerClass::Contract),
    (&["QUEUE"], BrokerClass::Queue),
    (&["SERVICE"], BrokerClass::Service),
    (&["ROUTE"], BrokerClass::Route),
];

impl Parser<'_> {
    /// Behind its verb, a statement about an object of the broker; `None` at any other.
    pub(super) fn broker_statement(&mut self, verb: &str) -> Result<Option<StatementKind>> {
        if self.at_words(&["SERVICE", "MASTER", "KEY"]) {
            return Ok(None);
        }
        if verb != "ALTER" && self.eat_words(&["EVENT", "NOTIFICATION"]) {
            return self.event_notification(verb).map(|s| Some(StatementKind::Broker(Box::new(s))));
        }
        let Some((words, class)) = CLASSES.iter().find(|(words, _)| self.at_words(words)) else {
            return Ok(None);
        };
        self.at += words.len();
        let statement = match (verb, class) {
            ("DROP", class) => {
                let if_exists = self.if_exists();
                BrokerStatement::Drop { class: *class, name: self.object_name()?, if_exists }
            }
            ("CREATE", BrokerClass::MessageType) => {
                let (name, owner) = (self.ident()?, self.broker_owner()?);
                BrokerStatement::CreateMessageType { name, owner, validation: self.validation()? }
            }
            (_, BrokerClass::MessageType) => {
                BrokerStatement::AlterMessageType { name: self.ident()?, validation: self.validation()? }
            }
            ("CREATE", BrokerClass::Contract) => {
                let (name, owner) = (self.ident()?, self.broker_owner()?);
                let messages = self.parenthesized_list(Self::contract_message)?;
                BrokerStatement::CreateContract { name, owner, messages }
            }
            ("CREATE", BrokerClass::Queue) => {
                let name = self.object_name()?;
                let options =
                    if self.eat_kw(Kw::WITH) { self.queue_options()? } else { QueueOptions::default() };
                if self.eat_kw(Kw::ON) {
                    self.any_word()?;
                }
                BrokerStatement::CreateQueue { name, options }
            }
            (_, BrokerClass::Queue) => self.alter_queue()?,
            ("CREATE", BrokerClass::Service) => self.create_service()?,
            (_, BrokerClass::Service) => self.alter_service()?,
            ("CREATE", BrokerClass::Route) => {
                let (name, owner) = (self.ident()?, self.broker_owner()?);
                BrokerStatement::CreateRoute { name, owner, options: self.route_options()? }
            }
            (_, BrokerClass::Route) => {
                BrokerStatement::AlterRoute { name: self.ident()?, options: self.route_options()? }
            }
            // There is no ALTER CONTRACT.
            (_, BrokerClass::Contract) => return Err(self.unexpected_at(self.at - 1)),
        };
        Ok(Some(StatementKind::Broker(Box::new(statement))))
    }

    fn broker_owner(&mut self) -> Result<Option<Ident>> {
        if self.eat_kw(Kw::AUTHORIZATION) { self.any_word().map(Some) } else { Ok(None) }
    }

    fn validation(&mut self) -> Result<Validation> {
        if !self.eat_word("VALIDATION") {
            return Ok(Validation::None);
        }
        self.expect(Tok::Eq)?;
        match self.one_of(&["NONE", "EMPTY", "WELL_FORMED_XML", "VALID_XML"]) {
            Some("NONE") => Ok(Validation::None),
            Some("EMPTY") => Ok(Validation::Empty),
            Some("WELL_FORMED_XML") => Ok(Validation::WellFormedXml),
            Some(_) => {
                self.expect_words(&["WITH", "SCHEMA", "COLLECTION"])?;
                self.object_name().map(Validation::ValidXml)
            }
            None => Err(self.unexpected()),
        }
    }

    fn contract_message(&mut self) -> Result<(Ident, SentBy)> {
        let name = self.ident()?;
        self.expect_words(&["SENT", "BY"])?;
        let by = match self.one_of(&["INITIATOR", "TARGET", "ANY"]) {
            Some("INITIATOR") => SentBy::Initiator,
            Some("TARGET") => SentBy::Target,
            Some(_) => SentBy::Any,
            None => return Err(self.unexpected()),
        };
        Ok((name, by))
    }

    // ---- queues ----

    fn event_notification(&mut self, verb: &str) -> Result<BrokerStatement> {
        if verb == "DROP" {
            let mut names = vec![self.ident()?];
            while self.eat(Tok::Comma) {
                names.push(self.ident()?);
            }
            return Ok(BrokerStatement::DropEventNotification { names, on: self.event_scope()? });
        }
        let (name, on) = (self.ident()?, self.event_scope()?);
        let fan_in = self.eat_kw(Kw::WITH);
        if fan_in {
            self.expect_word("FAN_IN")?;
        }
        self.expect_kw(Kw::FOR)?;
        let mut events = vec![self.ident()?.text];
        while self.eat(Tok::Comma) {
            events.push(self.ident()?.text);
        }
        self.expect_kw(Kw::TO)?;
        self.expect_word("SERVICE")?;
        let service = self.string()?;
        self.expect(Tok::Comma)?;
        let broker = self.string()?;
        let created = EventNotification { name, on, fan_in, events, service, broker };
        Ok(BrokerStatement::CreateEventNotification(Box::new(created)))
    }

    fn event_scope(&mut self) -> Result<EventScope> {
        self.expect_kw(Kw::ON)?;
        if self.eat_kw(Kw::DATABASE) {
            return Ok(EventScope::Database);
        }
        match self.one_of(&["SERVER", "QUEUE"]) {
            Some("SERVER") => Ok(EventScope::Server),
            Some(_) => Ok(EventScope::Queue(self.object_name()?)),
            None => Err(self.unexpected()),
        }
    }

    fn alter_queue(&mut self) -> Result<BrokerStatement> {
        let name = self.object_name()?;
        if self.eat_kw(Kw::WITH) {
            return Ok(BrokerStatement::AlterQueue { name, options: self.queue_options()? });
        }
        match self.one_of(&["REBUILD", "REORGANIZE", "MOVE"]) {
            Some("MOVE") => {
                self.expect_word("TO")?;
                self.any_word()?;
            }
            Some(_) if self.eat_kw(Kw::WITH) => {
                self.options_in_parentheses()?;
            }
            Some(_) => {}
            None => return Err(self.unexpected()),
        }
        Ok(BrokerStatement::MaintainQueue { name })
    }

    fn queue_options(&mut self) -> Result<QueueOptions> {
        let mut options = QueueOptions::default();
        loop {
            match self.one_of(&["STATUS", "RETENTION", "ACTIVATION", "POISON_MESSAGE_HANDLING"]) {
                Some("STATUS") => options.status = Some(self.equals_on_off()?),
                Some("RETENTION") => options.retention = Some(self.equals_on_off()?),
                Some("ACTIVATION") => options.activation = Some(self.activation()?),
                Some(_) => {
                    options.poison_handling = Some(self.parenthesized(|p| {
                        p.expect_word("STATUS")?;
                        p.equals_on_off()
                    })?);
                }
                None => return Err(self.unexpected()),
            }
            if !self.eat(Tok::Comma) {
                return Ok(options);
            }
        }
    }

    fn equals_on_off(&mut self) -> Result<bool> {
        self.expect(Tok::Eq)?;
        self.on_off()
    }

    fn activation(&mut self) -> Result<ActivationOptions> {
        self.expect(Tok::LParen)?;
        if self.eat_kw(Kw::DROP) {
            self.expect(Tok::RParen)?;
            return Ok(ActivationOptions::Drop);
        }
        let (mut status, mut procedure, mut max_readers, mut execute_as) = (None, None, None, None);
        loop {
            if self.eat_word("STATUS") {
                status = Some(self.equals_on_off()?);
            } else if self.eat_word("PROCEDURE_NAME") {
                self.expect(Tok::Eq)?;
                procedure = Some(self.object_name()?);
            } else if self.eat_word("MAX_QUEUE_READERS") {
                self.expect(Tok::Eq)?;
                max_readers = Some(self.bigint()?);
            } else {
                self.expect_words(&["EXECUTE", "AS"])?;
                execute_as = Some(match self.one_of(&["SELF", "OWNER"]) {
                    Some("SELF") => ActivationUser::Myself,
                    Some(_) => ActivationUser::Owner,
                    None => ActivationUser::Named(self.string()?),
                });
            }
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.expect(Tok::RParen)?;
        Ok(ActivationOptions::Set { status, procedure, max_readers, execute_as })
    }

    // ---- services and routes ----

    fn create_service(&mut self) -> Result<BrokerStatement> {
        let (name, owner) = (self.ident()?, self.broker_owner()?);
        self.expect_kw(Kw::ON)?;
        self.expect_word("QUEUE")?;
        let queue = self.object_name()?;
        let contracts = self.optional_ident_list()?;
        Ok(BrokerStatement::CreateService { name, owner, queue, contracts })
    }

    fn alter_service(&mut self) -> Result<BrokerStatement> {
        let name = self.ident()?;
        let queue = if self.eat_words(&["ON", "QUEUE"]) { Some(self.object_name()?) } else { None };
        let contracts = match self.tok() {
            Tok::LParen => self.parenthesized_list(|p| {
                let add = p.eat_kw(Kw::ADD);
                if !add {
                    p.expect_kw(Kw::DROP)?;
                }
                p.expect_word("CONTRACT")?;
                Ok((add, p.ident()?))
            })?,
            _ => Vec::new(),
        };
        Ok(BrokerStatement::AlterService { name, queue, contracts })
    }

    fn route_options(&mut self) -> Result<RouteOptions> {
        self.expect_kw(Kw::WITH)?;
        let mut options = RouteOptions::default();
        loop {
            let word =
                self.one_of(&["SERVICE_NAME", "BROKER_INSTANCE", "LIFETIME", "ADDRESS", "MIRROR_ADDRESS"]);
            let Some(word) = word else { return Err(self.unexpected()) };
            self.expect(Tok::Eq)?;
            match word {
                "LIFETIME" => options.lifetime = Some(self.bigint()?),
                "SERVICE_NAME" => options.service = Some(self.string()?),
                "BROKER_INSTANCE" => options.broker_instance = Some(self.string()?),
                "ADDRESS" => options.address = Some(self.string()?),
                _ => options.mirror_address = Some(self.string()?),
            }
            if !self.eat(Tok::Comma) {
                return Ok(options);
            }
        }
    }

    // ---- conversations ----

    /// A statement of conversations, from its first word; `None` at any other.
    #[inline(never)]
    pub(super) fn conversation(&mut self) -> Result<Option<StatementKind>> {
        let statement = if self.at_words(&["BEGIN", "CONVERSATION", "TIMER"]) {
            self.at += 3;
            self.conversation_timer()?
        } else if self.at_words(&["BEGIN", "DIALOG"]) {
            self.at += 2;
            self.eat_word("CONVERSATION");
            Conversation::Begin(self.begin_dialog()?)
        } else if self.eat_words(&["END", "CONVERSATION"]) {
            self.end_conversation()?
        } else if self.at_words(&["GET", "CONVERSATION", "GROUP"]) {
            self.get_group()?
        } else if self.eat_words(&["MOVE", "CONVERSATION"]) {
            let handle = self.simple_value()?;
            self.expect_kw(Kw::TO)?;
            Conversation::Move { handle, group: self.simple_value()? }
        } else if self.eat_words(&["SEND", "ON", "CONVERSATION"]) {
            Conversation::Send(self.send()?)
        } else if self.at_word("RECEIVE")
            // It is a name like any other: nothing but a list of values follows it here.
            && !matches!(self.tok_ahead(1), Tok::Eof | Tok::Semi | Tok::Dot | Tok::Colon)
        {
            self.receive()?
        } else {
            return Ok(None);
        };
        Ok(Some(StatementKind::Conversation(Box::new(statement))))
    }

    /// Behind WAITFOR: `( RECEIVE … | GET CONVERSATION GROUP … ) [, TIMEOUT n]`
    pub(super) fn waitfor_message(&mut self) -> Result<StatementKind> {
        self.expect(Tok::LParen)?;
        let mut statement = if self.at_word("RECEIVE") {
            self.receive()?
        } else if self.at_words(&["GET", "CONVERSATION", "GROUP"]) {
            self.get_group()?
        } else {
            return Err(self.unexpected());
        };
        while self.eat(Tok::Semi) {}
        self.expect(Tok::RParen)?;
        let timeout = if self.eat(Tok::Comma) {
            self.expect_word("TIMEOUT")?;
            Some(self.signed_value()?)
        } else {
            None
        };
        let patience = Some(Patience { timeout });
        match &mut statement {
            Conversation::Receive(r) => r.wait = patience,
            Conversation::GetGroup { wait, .. } => *wait = patience,
            _ => unreachable!("nothing else was parsed"),
        }
        Ok(StatementKind::Conversation(Box::new(statement)))
    }

    /// A variable, or a number that may have a sign.
    fn signed_value(&mut self) -> Result<crate::ast::Expr> {
        if self.tok() == Tok::Variable { self.simple_value() } else { self.expr() }
    }

    fn conversation_timer(&mut self) -> Result<Conversation> {
        let handle = self.parenthesized(Self::simple_value)?;
        self.expect_word("TIMEOUT")?;
        self.expect(Tok::Eq)?;
        Ok(Conversation::Timer { handle, seconds: self.expr()? })
    }

    fn begin_dialog(&mut self) -> Result<BeginDialog> {
        let handle = self.variable()?;
        self.expect_kw(Kw::FROM)?;
        self.expect_word("SERVICE")?;
        let from = self.ident()?;
        self.expect_kw(Kw::TO)?;
        self.expect_word("SERVICE")?;
        let to = self.simple_value()?;
        let broker_instance = if self.eat(Tok::Comma) { Some(self.simple_value()?) } else { None };
        let contract = if self.eat_words(&["ON", "CONTRACT"]) { Some(self.ident()?) } else { None };
        let mut dialog = BeginDialog {
            handle,
            from,
            to,
            broker_instance,
            contract,
            related: None,
            lifetime: None,
            encryption: true,
        };
        if self.eat_kw(Kw::WITH) {
            self.list(|p| p.dialog_option(&mut dialog))?;
        }
        Ok(dialog)
    }

    fn dialog_option(&mut self, dialog: &mut BeginDialog) -> Result<()> {
        let words = ["RELATED_CONVERSATION", "RELATED_CONVERSATION_GROUP", "LIFETIME", "ENCRYPTION"];
        let Some(word) = self.one_of(&words) else { return Err(self.unexpected()) };
        self.expect(Tok::Eq)?;
        match word {
            "RELATED_CONVERSATION" => dialog.related = Some(Related::Conversation(self.simple_value()?)),
            "RELATED_CONVERSATION_GROUP" => dialog.related = Some(Related::Group(self.simple_value()?)),
            "LIFETIME" => dialog.lifetime = Some(self.signed_value()?),
            _ => dialog.encryption = self.on_off()?,
        }
        Ok(())
    }

    fn send(&mut self) -> Result<SendMessage> {
        let handles = match self.tok() {
            Tok::LParen => self.parenthesized_list(Self::simple_value)?,
            _ => self.list(Self::simple_value)?,
        };
        let message_type = if self.eat_words(&["MESSAGE", "TYPE"]) { Some(self.ident()?) } else { None };
        let body = match self.tok() {
            Tok::LParen => Some(self.parenthesized(Self::expr)?),
            _ => None,
        };
        Ok(SendMessage { handles, message_type, body })
    }

    fn receive(&mut self) -> Result<Conversation> {
        self.expect_word("RECEIVE")?;
        let top = self.top()?;
        let items = self.list(Self::select_item)?;
        self.expect_kw(Kw::FROM)?;
        let queue = self.object_name()?;
        let into = if self.eat_kw(Kw::INTO) { Some(self.variable()?) } else { None };
        let filter = if self.eat_kw(Kw::WHERE) { Some(self.receive_filter()?) } else { None };
        Ok(Conversation::Receive(Receive { top, items, queue, into, filter, wait: None }))
    }

    fn receive_filter(&mut self) -> Result<ReceiveFilter> {
        let word = self.ident()?;
        let by_group = word.is("conversation_group_id");
        if !by_group && !word.is("conversation_handle") {
            return Err(self.unexpected_at(self.at - 1));
        }
        self.expect(Tok::Eq)?;
        let value = self.simple_value()?;
        Ok(if by_group { ReceiveFilter::Group(value) } else { ReceiveFilter::Handle(value) })
    }

    fn get_group(&mut self) -> Result<Conversation> {
        self.at += 3;
        let group: Variable = self.variable()?;
        self.expect_kw(Kw::FROM)?;
        Ok(Conversation::GetGroup { group, queue: self.object_name()?, wait: None })
    }

    fn end_conversation(&mut self) -> Result<Conversation> {
        let handle = self.simple_value()?;
        let how = if !self.eat_kw(Kw::WITH) {
            EndConversation::Plain
        } else if self.eat_word("CLEANUP") {
            EndConversation::Cleanup
        } else {
            self.expect_word("ERROR")?;
            self.expect(Tok::Eq)?;
            let code = self.signed_value()?;
            self.expect_word("DESCRIPTION")?;
            self.expect(Tok::Eq)?;
            EndConversation::Error { code, description: self.simple_value()? }
        };
        Ok(Conversation::End { handle, how })
    }
}
